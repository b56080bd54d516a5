"""Classes of others that take part: operators and sinks, found by entry points or handed over.

The parameters of a class's constructor are the keys that a file may give it, and their annotations what is checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from traceback import walk_tb
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from serving.common.explain import Strict
from serving.errors import BadInput

Kinds = Mapping[str, type[Any]]
NONE: Kinds = {}

_NO_KEYS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Extension(Strict):
    """The keys by which a file describes an instance of a class of others; ``kinds`` makes one for each class."""

    model_config = ConfigDict(protected_namespaces=())
    group: ClassVar[str]
    """The group of the entry points that name such classes."""
    methods: ClassVar[Mapping[str, str]] = {}
    """The methods that such a class must have, and how each is defined: by ``def`` or ``async def``."""
    made: ClassVar[type[Any]]
    keys: ClassVar[Collection[str]]

    def make(self, where: str, **reserved: object) -> Any:
        """An instance; ``reserved`` parameters are handed over where it has them. BadInput for all that it raises."""
        keys = {key: getattr(self, key) for key in self.keys}
        asked = inspect.signature(self.made).parameters
        try:
            return self.made(**keys, **{name: value for name, value in reserved.items() if name in asked})
        except Exception as error:
            raise BadInput(f"{where}: {type(error).__name__}: {error}") from error


def raised_at(error: BaseException, made: type[Any]) -> str:
    """The innermost place of an error in the file of a class, such as ``bright.py:12 in look: ``; empty: none there."""
    calls = [call for call in walk_tb(error.__traceback__) if call[0].f_globals.get("__name__") == made.__module__]
    if not calls:
        return ""
    code, line = calls[-1][0].f_code, calls[-1][1]
    return f"{Path(code.co_filename).name}:{line} in {code.co_name}: "


E = TypeVar("E", bound=Extension)
M = TypeVar("M", bound=BaseModel)


def kinds(base: type[E], tag: str, named: Collection[object], ours: Kinds, given: Kinds = NONE) -> Kinds:
    """The models that a file may need which names these kinds under ``tag``, by their names.

    Classes that are neither ``ours`` nor ``given`` are looked for among installed packages, where one is named. Raises
    BadInput for a class of no use."""
    if taken := given.keys() & ours.keys():
        raise BadInput(f"{', '.join(sorted(taken))}: is there already: choose another name")
    unknown = {name for name in named if isinstance(name, str)} - ours.keys() - given.keys()
    found = {**(_installed(base.group) if unknown else {}), **given}
    return {**{name: _kind(base, tag, name, made) for name, made in found.items()}, **ours}


def extended(model: type[M], field: str, tag: str, found: Kinds) -> type[M]:
    """A model whose field is a list of these kinds."""
    kind: Any = reduce(or_, found.values())
    items: Any = tuple[Annotated[kind, Field(discriminator=tag)], ...], model.model_fields[field]
    return create_model(model.__name__, __base__=model, **{field: items})


def _installed(group: str) -> dict[str, type[Any]]:
    """The classes that packages bring; raises BadInput where one cannot be imported."""
    from importlib.metadata import entry_points  # reads what is installed, which most files do without

    found: dict[str, type[Any]] = {}
    for each in entry_points(group=group):
        try:
            found[each.name] = each.load()
        except Exception as error:  # a package may raise anything when it is imported
            raise BadInput(f"{group}: {each.name} ({each.value}): {type(error).__name__}: {error}") from error
    return found


def _kind(base: type[E], tag: str, name: str, made: type[Any]) -> type[E]:
    """The keys of ``base``, and parameters of other names."""
    if not isinstance(made, type):
        raise BadInput(f"{name}: is a {type(made).__name__}: give a class, which is made when the query runs")
    try:
        keys = {key: field for key, field in _fields(made).items() if key not in base.model_fields}
        fields: dict[str, Any] = {tag: (Literal[name], ...), **keys}
        found = create_model(f"{made.__name__}Keys", __base__=base, __doc__=made.__doc__, **fields)
    except Exception as error:  # annotations of others
        raise BadInput(f"{name} ({_name(made)}): {type(error).__name__}: {error}") from error
    for method, form in base.methods.items():
        if _form(getattr(made, method, None)) != form:
            raise BadInput(f"{name} ({_name(made)}): needs a method of its own: {form} {method}(self, …)")
    found.made, found.keys = made, tuple(keys)
    return found


def _name(made: type[Any]) -> str:
    return f"{made.__module__}.{made.__qualname__}"


def _form(method: object) -> str:
    if not callable(method):
        return "none"
    return "async def" if inspect.iscoroutinefunction(inspect.unwrap(method)) else "def"


def _fields(made: type[Any]) -> dict[str, Any]:
    """The parameters of a constructor as fields of pydantic: name → (type, default)."""
    hints = get_type_hints(made.__init__, include_extras=True)
    return {
        name: (hints.get(name, Any), ... if each.default is each.empty else each.default)
        for name, each in inspect.signature(made).parameters.items()
        if each.kind not in _NO_KEYS
    }
