"""Reads a query file and finds everything that is wrong with it, in one go."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from operators.extensions import NONE, Kinds
from pipelines.environment import measured
from pipelines.query.dag import CompiledQuery, compiled
from pipelines.query.draft import Draft, read_draft
from pipelines.query.filter_parser import FilterError, parse_selection
from pipelines.query.filters import ZONE, Value, leaves
from pipelines.query.lineage import node_problems
from pipelines.query.models.model_check import Places, model_problems
from pipelines.query.models.remote_models import backend_problems
from pipelines.query.needs import needs_of
from pipelines.query.nodes import NodeSpec, takes_frame
from pipelines.query.yaml_file import Document, read_yaml
from pipelines.query.zones import stream_problems
from serving.catalogue.lookup import Catalogue
from serving.common.explain import Problem, choices, few

log = logging.getLogger(__name__)


def examine(query: Path | Document, catalogue: Catalogue | None = None, own: Kinds = NONE) -> Draft:
    """Check a query: form, nodes, and, given a catalogue, models. ``own``: classes of operators by their tasks.

    Its problems have lines, in the order of the file.
    """
    document = read_yaml(query) if isinstance(query, Path) else query
    draft, unmet = read_draft(document, own), list[Problem]()
    if catalogue is not None and any(needs_of(node.models) for node in draft.nodes.values()):
        from pipelines.query.models.model_less import with_models  # profiles, which bring numbers

        draft, unmet = with_models(draft, catalogue, measured(catalogue))
    problems = chain(draft.problems, unmet, node_problems(draft.nodes, draft.unread), zone_problems(draft))
    problems = chain(problems, backend_problems(draft.nodes, _backends(document)))
    if catalogue is not None:
        read = draft.query
        places: Mapping[str, Places] = {"masks": read.masks, "zones": read.zones, "lines": read.lines} if read else {}
        problems = chain(problems, model_problems(draft.nodes, catalogue, places))
    return replace(draft, problems=tuple(document.located(few(problems))))


def open_query(
    query: Path | Document, catalogue: Catalogue, sources: Sequence[str] = (), own: Kinds = NONE
) -> CompiledQuery:
    """The query, ready to run, on other sources where given; raises QueryError or SourceError."""
    found = compiled(examine(query, catalogue, own).require(), catalogue)
    if not sources:
        return found
    moved = found.query.with_sources(sources)
    for problem in stream_problems(moved.shapes, [stream.id for stream in moved.streams]):
        log.warning("%s: it lies on none of the sources that were given", problem)
    return compiled(moved, catalogue)


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


def _backends(document: Document) -> Mapping[str, object]:
    """Those that the file names, right or wrong."""
    found = document.data.get("backends") if isinstance(document.data, dict) else None
    return {str(name): each for name, each in found.items()} if isinstance(found, dict) else {}


def _asked(spec: NodeSpec) -> Iterator[Value]:
    """The zones that a node's filter names; none where it cannot be read, which is told elsewhere."""
    if takes_frame(spec):
        return
    with suppress(FilterError):
        for leaf in leaves(parse_selection(spec.input or "").where):
            if leaf.field == ZONE:
                yield leaf.value
