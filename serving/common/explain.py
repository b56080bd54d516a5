"""The base of what people write in files: query, topics, model cards; and their errors explained, one line each: key
path, what is wrong, what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails


class Strict(BaseModel):
    """Immutable, and refuses keys it does not know. Its validator is built when the first file is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _words(cls, data: Any) -> Any:
        """YAML's ``yes`` and ``no`` are words where a number is wanted; pydantic would make 1 and 0 of them."""
        words = [key for key, value in data.items() if isinstance(value, bool)] if isinstance(data, dict) else []
        numbers = [key for key in words if key in cls.model_fields and _is_number(cls.model_fields[key].annotation)]
        return {**data, **{key: str(data[key]).lower() for key in numbers}} if numbers else data


def _is_number(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        return _is_number(get_args(kind)[0])
    within = set(get_args(kind)) - {NoneType} if get_origin(kind) in (Union, UnionType) else set()
    return kind in (int, float) or (bool(within) and all(map(_is_number, within)))


def listed(value: Any) -> Any:
    """A list; of one thing, where it is no list."""
    return value if isinstance(value, list | tuple | dict) else [value]


def beside_the_file(path: Path, info: ValidationInfo) -> Path:
    """A relative path is relative to the file that names it, so that a query and its pictures move together."""
    return Path((info.context or {}).get("base", "")) / path


KeyPath = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)

SHOWN = 20
"""So many allowed words are listed."""


_CLASS = r"\[([^\]]+)\]"
_NAME = re.compile(rf"\^({_CLASS})?{_CLASS}\{{(\d+),(\d+)\}}\$")
_GROUPS = (
    ("A-Za-z", "letters"),
    ("a-z", "small letters"),
    ("A-Z", "capital letters"),
    ("0-9", "digits"),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct; ``path`` leads to the value, () is the whole file."""

    path: KeyPath
    message: str
    line: int | None = None
    """Where the path alone cannot say it; counts from 1."""

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.message}" if self.path else self.message


MOST_PROBLEMS = 100
"""So many are told at once: a file of some hundred kilobytes may be wrong in every word."""
LOOKED_AT = 1000
"""Faults of form that are looked at; many of them may be one problem."""
MANY = Problem((), f"more than {MOST_PROBLEMS} things are wrong: these are some of them")


def few(problems: Iterable[Problem]) -> list[Problem]:
    """All of them, or some where they are many; further ones are not even made."""
    found = list(islice(problems, MOST_PROBLEMS + 1))
    return found if len(found) <= MOST_PROBLEMS else [*found[:MOST_PROBLEMS], MANY]


def dotted(path: KeyPath) -> str:
    """``("nodes", 2, "model")`` as people write it: ``nodes[2].model``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def choices(word: object, known: Iterable[str]) -> str:
    """``; did you mean 'x'? allowed: x, y``: the near miss, if there is one, and what is allowed."""
    names = list(dict.fromkeys(known))
    by_small = {name.lower(): name for name in names}
    close = [by_small[each] for each in get_close_matches(str(word).lower(), by_small, n=1)]
    hint = f"did you mean {close[0]!r}? " if close and close[0] != word else ""
    more = f", … ({len(names)} in all)" if len(names) > SHOWN else ""
    return f"; {hint}allowed: {', '.join(names[:SHOWN]) or 'none'}{more}"


def validate(model: type[M], data: Any, context: Mapping[str, Any] | None = None) -> tuple[M | None, list[Problem]]:
    """The model, or None and a problem for each thing that is wrong, in place of pydantic's words."""
    valid, items = _validated(model, data, context or {})
    told = [item for item in items if not _said_elsewhere(item)][:LOOKED_AT]
    return valid, few(_each_once([_problem(item, model, data) for item in told]))


def _validated(model: type[M], data: Any, context: Mapping[str, Any]) -> tuple[M | None, list[ErrorDetails]]:
    try:
        return model.model_validate(data, context=dict(context)), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _each_once(problems: Sequence[Problem]) -> list[Problem]:
    """Items of one list that are wrong in the same way are one problem: there may be thousands."""
    alike: dict[object, list[Problem]] = {}
    for each in problems:
        where = each.path[:-1] if each.path and isinstance(each.path[-1], int) else each
        alike.setdefault((where, each.message), []).append(each)
    return [
        replace(each, message=f"{each.message} (and {len(more)} more)") if more else each
        for each, *more in alike.values()
    ]


def _said_elsewhere(item: ErrorDetails) -> bool:
    """Whether others say it all: a list of which no item is valid counts as empty, a default may need a valid key."""
    return item["type"] == "default_factory_not_called" or (item["type"] == "too_short" and bool(item["input"]))


def salvage(model: type[M], data: Any, context: Mapping[str, Any]) -> M | None:
    """The model without the keys that are wrong, where it can do without them: to find more problems in one go."""
    valid, items = _validated(model, data, context)
    if valid is not None or not isinstance(data, dict):
        return valid
    wrong = {item["loc"][0] for item in items if item["loc"]}
    return _validated(model, {key: value for key, value in data.items() if key not in wrong}, context)[0]


def _problem(item: ErrorDetails, model: type[BaseModel], data: Any) -> Problem:
    path, value, context = _path(item, data), item["input"], item.get("ctx", {})
    match item["type"]:
        case "extra_forbidden":
            known = [key for kind in _models_at(model, item["loc"][:-1]) for key in kind.model_fields]
            return Problem(path, f"unknown key{choices(path[-1], known)}")
        case "missing":
            return Problem(path, "is missing")
        case "invalid_key":
            return Problem(path, f"{_shown(item['loc'][-1])} is no key: keys are text")
        case "union_tag_not_found" | "union_tag_invalid":
            key = context["discriminator"].strip("'")
            known = [name for kind in _models_at(model, item["loc"]) for name in _literals(kind, key)]
            given = f"is {context['tag']!r}{choices(context['tag'], known)}" if "tag" in context else None
            return Problem((*path, key), given or f"is missing; allowed: {', '.join(known)}")
        case "literal_error":
            known = [_as_written(choice) for choice in context["expected"].replace(" or ", ", ").split(", ")]
            quoted = " in quotes" if value in known else ""
            return Problem(path, f"is {_shown(value)}{quoted}{choices(value, known)}")
        case "string_pattern_mismatch" if (words := pattern_words(context["pattern"])) is not None:
            return Problem(path, f"{_shown(value)} {words}")
        case "value_error":
            return Problem(path, str(context["error"]))
        case _ if value is None:
            return Problem(path, "has no value")
        case kind:
            return Problem(path, _WORDS.get(kind) or f"{_shown(value)} {_lower(item['msg'])}".strip())


_WORDS = {
    "model_type": "should be a mapping of keys to values",
    "model_attributes_type": "should be a mapping of keys to values",
    "tuple_type": "should be a list",
    "string_type": "should be text; put it in quotes",
    "string_unicode": "should be text",
    "path_type": "should be text; put it in quotes",
    "is_instance_of": "should be text; put it in quotes",
    "too_short": "should not be empty",
    "string_too_short": "should not be empty",
}


def _shown(value: Any) -> str:
    """A scalar as the user wrote it, cut short; nothing for what is too large to show."""
    if isinstance(value, dict | list):
        return ""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _as_written(choice: str) -> str:
    """One of pydantic's choices as YAML has it."""
    return {"True": "true", "False": "false"}.get(choice) or choice.strip("'")


def _lower(message: str) -> str:
    """Pydantic's "Input should be …" as the end of a sentence."""
    words = re.sub(r"^(Input|String|Tuple) |(?<= )valid | after validation|, (unable|got) .*", "", message)
    return words.replace("a integer", "a whole number")


def _path(item: ErrorDetails, data: Any) -> KeyPath:
    """Pydantic's location without the names of the members of unions, which are not in the file."""
    path: KeyPath = ()
    for part in item["loc"]:
        if _has(data, part):
            data = data[part]
            path = (*path, part)
    if item["type"] == "missing":
        path = (*path, item["loc"][-1])
    return path


def _has(data: Any, part: str | int) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _models_at(model: type[BaseModel], path: KeyPath) -> list[type[BaseModel]]:
    """The models that may stand at a path; a tag of a union narrows them to the members that bear it."""
    models = [model]
    for part in path:
        if isinstance(part, int):
            continue
        inner = [found for kind in models if part in kind.model_fields for found in _models_in(kind, part)]
        tagged = [kind for kind in models if any(part in _literals(kind, field) for field in kind.model_fields)]
        models = inner or tagged or models
    return models


def _models_in(model: type[BaseModel], field: str) -> list[type[BaseModel]]:
    pending, found = [model.model_fields[field].annotation], []
    while pending:
        annotation = pending.pop(0)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        pending.extend(get_args(annotation))
    return found


def _literals(model: type[BaseModel], field: str) -> tuple[Any, ...]:
    annotation = model.model_fields[field].annotation if field in model.model_fields else None
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def pattern_words(pattern: str) -> str | None:
    """The demand of a pattern such as ``^[a-z][a-z0-9-]{0,49}$`` in words; None for one of another form.

    >>> pattern_words("^[a-z][a-z0-9-]{0,49}$")
    "should be 1 to 50 small letters, digits or '-', beginning with small letters"
    """
    match = _NAME.fullmatch(pattern)
    if match is None:
        return None
    has_first, first, allowed, least, most = match.groups()
    extra = 1 if has_first else 0
    beginning = f", beginning with {_listed(first)}" if has_first else ""
    return f"should be {int(least) + extra} to {int(most) + extra} {_listed(allowed)}{beginning}"


def _listed(characters: str) -> str:
    """The characters of a class: groups by name, others in quotes."""
    found = []
    for group, name in _GROUPS:
        if group in characters:
            characters = characters.replace(group, "", 1)
            found.append(name)
    found += [repr(character) for character in characters]
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


def first_line(error: Exception) -> str:
    """The first line of an exception's message that says something, or its kind where none does."""
    # OpenVINO begins with the places in its source.
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Exception from ")]
    return lines[0].strip() if lines else type(error).__name__
