"""Reads a YAML file that a person wrote: plain types only, bounded, no duplicate keys, line numbers kept for errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import yaml

from serving.common.explain import KeyPath, Problem, few

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
NO_TYPES = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
"""Words that look like these stay words."""
LONGEST_NUMBER = 100
"""Characters: numbers that a few letters make endless cannot even be printed."""

_MISTAKES = {
    "while parsing a block": "does not fit the lines above: indent it as they are, and begin items of a list by '- '",
    "while parsing a flow": "a bracket is not closed, or text with brackets, ',' or ':' stands without quotes",
    "while scanning a simple key": "is no 'key: value': a colon, or the space behind it, is missing",
    "while scanning for the next token": "begins with a tab or a sign that YAML keeps: indent by spaces, quote text",
    "while scanning a quoted scalar": "a quote is not closed",
    "mapping values are not allowed": "indent it as the lines around it, and put text that holds ': ' in quotes",
}
"""How the parser's words begin, and what to do."""


@dataclass(frozen=True)
class Document:
    """The content of a file; ``root`` knows where everything stands."""

    path: Path
    data: Any
    root: yaml.Node | None
    problems: tuple[Problem, ...]

    def with_keys(self, keys: dict[str, Any]) -> Document:
        """The same with these in the place of its own, which stand in no line."""
        if not isinstance(self.data, dict):
            return self
        lines = [] if self.root is None else [each for each in self.root.value if each[0].value not in keys]
        return replace(self, data=self.data | keys, root=yaml.MappingNode("", lines))

    def located(self, problems: Iterable[Problem]) -> list[Problem]:
        """The problems with their lines, in the order of the file."""
        placed = [replace(problem, line=problem.line or self._line(problem.path)) for problem in problems]
        return sorted(placed, key=lambda problem: problem.line or 0)

    def explain(self, problems: Iterable[Problem]) -> str:
        """A line for each problem: ``file:line: key path: what is wrong``."""
        located = self.located(problems)
        return "\n".join(
            f"{self.path}:{each.line}: {each}" if each.line else f"{self.path}: {each}" for each in located
        )

    def _line(self, path: KeyPath) -> int | None:
        """The line of the key or list item at a path, or of the closest one around it that exists."""
        node, line = self.root, None
        for part in path:
            node, line = _descend(node, part, line)
        return line


def read_yaml(path: Path) -> Document:
    """Read a file; whatever is wrong with it is in ``problems``, nothing is raised."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        return _unreadable(path, f"cannot be read ({error.strerror})")
    if len(content) > MAX_BYTES:
        return _unreadable(path, f"is larger than {MAX_BYTES // 1024} KiB")
    try:
        return parse_yaml(path, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        return _unreadable(path, f"is not UTF-8 text (byte {error.start})")


def parse_yaml(path: Path, text: str) -> Document:
    """Parse YAML; ``path`` is only its name in messages."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        data = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        what = ", ".join(part for part in (error.context, error.problem) if part)
        begun = error.context_mark if what.startswith(("while scanning", "while parsing a flow")) else None
        mark = begun or error.problem_mark
        remedy = next((remedy for mistake, remedy in _MISTAKES.items() if what.startswith(mistake)), what)
        return _unreadable(path, f"is not valid YAML: {remedy}", mark.line + 1 if mark else None)
    except (yaml.YAMLError, ValueError) as error:
        return _unreadable(path, f"is not valid YAML: {' '.join(str(error).split())}")
    return Document(path, data, root, tuple(few(_duplicates(root, ()))))


class _Loader(yaml.SafeLoader):
    """Plain YAML: no aliases, which a few lines can blow up to gigabytes, no endless numbers, no tags, and no dates."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            self._refuse("aliases (*name) are not allowed")
        if getattr(self.peek_event(), "tag", None) not in (None, "!"):  # type: ignore[no-untyped-call]
            self._refuse("tags (!name) are not allowed: put text in quotes")
        if self._depth == MAX_DEPTH:
            self._refuse(f"nested deeper than {MAX_DEPTH}")
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if node.tag in NUMBERS and len(node.value) > LONGEST_NUMBER:
            raise yaml.composer.ComposerError(None, None, "a number without end", node.start_mark)
        return node

    def _refuse(self, why: str) -> NoReturn:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        raise yaml.composer.ComposerError(None, None, why, event.start_mark)  # type: ignore[arg-type]


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in NO_TYPES]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _duplicates(node: yaml.Node | None, path: KeyPath) -> Iterator[Problem]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _duplicates(item, (*path, index))
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in first:
                yield Problem((*path, key.value), f"given twice, first in line {first[key.value]}", line)
            first.setdefault(key.value, line)
            yield from _duplicates(value, (*path, key.value))


def _descend(node: yaml.Node | None, part: str | int, line: int | None) -> tuple[yaml.Node | None, int | None]:
    """The node below ``node`` at ``part`` and its line; (None, ``line``) where there is no such node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == part:
                return value, key.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line + 1
    return None, line


def _unreadable(path: Path, message: str, line: int | None = None) -> Document:
    return Document(path, None, None, (Problem((), message, line),))
