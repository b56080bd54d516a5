"""Turns pydantic's errors into lines for people: the key's path, what is allowed, and a near miss."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError


def problems(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One line per problem: ``path: what is wrong (did you mean …?)``."""
    return [_line(item, model) for item in error.errors(include_url=False)]


def near_miss(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` where a known word is close, else nothing."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _line(item: Any, model: type[BaseModel]) -> str:
    path, kind = item["loc"], item["type"]
    dotted = ".".join(str(part) for part in path)
    if kind == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        hint = near_miss(str(path[-1]), known) or (f"; allowed: {', '.join(sorted(known))}" if known else "")
        return f"{dotted}: unknown key{hint}"
    if kind == "missing":
        return f"{dotted}: is required"
    message = item["msg"].removeprefix("Value error, ")
    return f"{dotted}: {message[:1].lower()}{message[1:]}" if dotted else message


def _keys_at(model: type[BaseModel], path: tuple[Any, ...]) -> set[str]:
    """The keys that the models at this path know; a union's tags and a list's indices are passed over."""
    models = {model}
    for part in path:
        fields = [known.model_fields[part] for known in models if part in known.model_fields]
        inner = {found for field in fields for found in _models(field.annotation)}
        models = inner or models
    return {name for known in models for name in known.model_fields}


def _models(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {model for argument in get_args(annotation) for model in _models(argument)}
