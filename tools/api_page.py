"""Writes ``docs/api.md`` from the docstrings of what ``import sluice`` offers: ``python -m tools.api_page``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

import sluice
from tools.schemas import field_docs

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
HEAD = """\
# Python

`import sluice` is the one import that programs need, and the only one that is kept stable. This page is made of its
docstrings. [The notebook](../examples/street.ipynb) shows a run, [consumer.py](../examples/consumer.py) an application
on the topic of results, and [add an operator](how-to/add-an-operator.md) a node of your own.

```python
import sluice

for result in sluice.run("examples/vehicles.yaml", "clip.mp4"):
    for found in result.objects:
        print(result.seq, found.track_id, found.label, found.answer("vehicle_type"))
```

A run changes nothing of the process that it is part of: neither environment, signal handlers and garbage collection,
nor the threads of other libraries. The `sluice` command does, for speed: it has a process of its own.
"""
OURS = ("sluice", "pipelines", "operators", "serving")
FIRST = ["run", "arun", "watch", "watch_events", "Query", "Result", "Object"]


def page() -> str:
    """The page as it stands in its file."""
    names = [*FIRST, *(name for name in sluice.__all__ if name not in (*FIRST, "__version__"))]
    errors = [name for name in names if _is_error(getattr(sluice, name))]
    shown = [part for name in names if name not in errors for part in _shown(name, getattr(sluice, name))]
    tree = ["## Errors\n", *(f"* `{name}`: {_flat(getattr(sluice, name).__doc__)}" for name in errors)]
    return "\n".join([HEAD, *shown, *tree]) + "\n"


def _is_error(found: Any) -> bool:
    return inspect.isclass(found) and issubclass(found, Exception)


def _shown(name: str, found: Any) -> Iterator[str]:
    yield f"## `sluice.{name}`\n"
    if not inspect.isclass(found):
        yield f"```\n{name}{_signature(found)}\n```\n"
        yield f"{_said(found)}\n"
        return
    yield f"{_said(found)}\n"
    yield from _fields(found)
    for member, value in _members(found):
        signature = "" if isinstance(value, property) else _signature(value)
        form = "async " if inspect.iscoroutinefunction(value) else ""
        yield f"* `{form}{member}{signature}`: {_flat(value.__doc__)}"
    yield ""


def _fields(found: type) -> Iterator[str]:
    """Fields with their types, and what their docstrings say."""
    said = field_docs(found, Struct if issubclass(found, Struct) else object)
    kinds = {name: kind for each in _ours(found) for name, kind in inspect.get_annotations(each).items()}
    for name, kind in kinds.items():
        yield f"* `{name}: {kind}`" + (f": {_flat(said[name])}" if name in said else "")


def _ours(found: type) -> list[type]:
    return [each for each in reversed(found.__mro__) if each.__module__.partition(".")[0] in OURS]


def _members(found: type) -> Iterator[tuple[str, Any]]:
    for each in _ours(found):
        for name, value in vars(each).items():
            is_shown = isinstance(value, property) or inspect.isfunction(value)
            if is_shown and value.__doc__ and (name == "__init__" or not name.startswith("_")):
                yield name, value


def _signature(found: Callable[..., object]) -> str:
    """The parameters with their types, without ``self``, one a line where they are many."""
    text = re.sub(r"^\(self(, )?", "(", str(inspect.signature(found)).replace("'", ""))
    return text if len(text) < 110 else re.sub(r"(?<=[(,]) ?(?=\*?\w+:|\*,)", "\n    ", text)


def _said(found: object) -> str:
    """A docstring as Markdown: examples in a block, names as code."""
    words, _, example = inspect.cleandoc(found.__doc__ or "").partition("\n>>> ")
    text = words.replace("``", "`").strip()
    return f"{text}\n\n```\n>>> {example}\n```" if example else text


def _flat(text: str) -> str:
    """One paragraph."""
    return " ".join(text.replace("``", "`").split())


def main() -> None:
    """Write it."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
