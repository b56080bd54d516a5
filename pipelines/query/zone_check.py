"""Checks the needs that nodes and zones have of each other. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from pipelines.query.filter_parser import FilterError, parse_selection
from pipelines.query.filters import ZONE, In, Value, leaves
from pipelines.query.nodes import NodeSpec, takes_frame
from pipelines.query.query_file import Draft
from serving.common.explain import Problem, choices


def zone_problems(draft: Draft) -> Iterator[Problem]:
    """Filters that name no zone of the query, and lines at which nothing is tracked."""
    data = draft.document.data if isinstance(draft.document.data, dict) else {}
    zones = data.get("zones")
    names = [str(each.get("name")) for each in (zones if isinstance(zones, list) else ()) if isinstance(each, dict)]
    for index, spec in draft.nodes.items():
        for name in _asked(spec):
            if name not in names:
                yield Problem(("nodes", index, "input"), f"there is no zone {name!r}{choices(name, names)}")
    if draft.query and draft.query.lines and all(node.task != "track" for node in draft.query.nodes):
        yield Problem(("lines",), "nothing is tracked, so nothing can cross: add a node with task: track")


def _asked(spec: NodeSpec) -> Iterator[Value]:
    """The zones that a node's filter names; none where it cannot be read, which is told elsewhere."""
    if takes_frame(spec):
        return
    with suppress(FilterError):
        for leaf in leaves(parse_selection(spec.input or "").where):
            if leaf.field == ZONE:
                yield from leaf.values if isinstance(leaf, In) else (leaf.value,)
