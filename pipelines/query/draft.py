"""Reads a query file, as far as it makes sense."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from operators.extensions import NONE, Kinds, extended, kinds
from operators.wire.bounds import MOST_NODES, MOST_ZONES
from pipelines.query.nodes import NODE_TYPES, NodeSpec, OwnNode
from pipelines.query.query_file import Query, StreamSpec
from pipelines.query.yaml_file import Document, read_yaml
from pipelines.query.zones import LineSpec, ShapeSpec, ZoneSpec, name_problems, stream_problems
from serving.common.explain import KeyPath, Problem, salvage, validate
from serving.errors import QueryError


@dataclass(frozen=True)
class Draft:
    """A query file as far as it makes sense: what is wrong in one place must not hide what is wrong in another."""

    document: Document
    query: Query | None
    """None where there are problems."""
    nodes: Mapping[int, NodeSpec]
    """Those that make sense, by their place in the file."""
    unread: frozenset[str]
    """Names of nodes that do not."""
    problems: tuple[Problem, ...]

    def require(self) -> Query:
        """The query; raises QueryError with a line for each problem."""
        if self.query is None or self.problems:
            raise QueryError(self.document.explain(self.problems))
        return self.query


def load_query(path: Path) -> Query:
    """Read a query file; raises QueryError with a line per problem of form. ``check`` finds the rest."""
    return read_draft(read_yaml(path)).require()


def read_draft(document: Document, own: Kinds = NONE) -> Draft:
    """Validate a document against the models above; ``own``: classes of operators beside the installed ones, by task.

    Raises BadInput where such a class is of no use."""
    if document.data is None:
        empty = (Problem((), "is empty: docs/query.md says what belongs into it"),)
        return Draft(document, None, {}, frozenset(), document.problems or empty)
    context = {"base": document.path.parent, "file": document.path}
    tasks = [item.get("task") for _, item in _items(document.data, "nodes")]
    found = kinds(OwnNode, "task", tasks, NODE_TYPES, own)
    model = Query if found.keys() == NODE_TYPES.keys() else extended(Query, "nodes", "task", found)
    query, problems = validate(model, document.data, context)
    streams = {
        i: stream for i, item in _items(document.data, "streams") if (stream := salvage(StreamSpec, item, context))
    }
    nodes = {i: node for i, item in _items(document.data, "nodes") if (node := _node(item, found, context))}
    names = (item.get("name") for i, item in _items(document.data, "nodes") if i not in nodes)
    unread = frozenset(name for name in names if isinstance(name, str))
    ids = [stream.id for stream in streams.values()]
    shapes = [*_shapes(document.data, "zones", ZoneSpec), *_shapes(document.data, "lines", LineSpec)]
    problems = [
        *document.problems,
        *problems,
        *_clashes(streams),
        *name_problems(shapes),
        *stream_problems(shapes, ids),
    ]
    return Draft(document, query, nodes, unread, tuple(problems))


MOST = {"nodes": MOST_NODES, "zones": MOST_ZONES, "lines": MOST_ZONES}
"""Items of lists that are looked at one by one."""


def _items(data: Any, key: str) -> list[tuple[int, dict[Any, Any]]]:
    items = data.get(key) if isinstance(data, dict) else None
    read = islice(items if isinstance(items, list) else (), MOST.get(key))
    return [(i, item) for i, item in enumerate(read) if isinstance(item, dict)]


def _node(item: dict[Any, Any], found: Kinds, context: Mapping[str, Any]) -> NodeSpec | None:
    kind = found.get(str(item.get("task")))
    return salvage(kind, item, context) if kind else None


def _shapes(data: Any, key: str, kind: type[ShapeSpec]) -> list[tuple[KeyPath, ShapeSpec]]:
    read = (((key, i), salvage(kind, item, {})) for i, item in _items(data, key))
    return [(path, spec) for path, spec in read if spec is not None]


def _clashes(streams: Mapping[int, StreamSpec]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for i, stream in streams.items():
        if first.setdefault(stream.id, i) != i:
            yield Problem(("streams", i, "id"), f"{stream.id!r} is the id of streams[{first[stream.id]}] too")
