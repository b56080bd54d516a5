"""Reads a query file and finds everything that is wrong with it, in one go."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pipelines.environment import measured
from pipelines.query.compiled import CompiledQuery
from pipelines.query.dag import Dag, compile_dag, node_problems
from pipelines.query.model_check import model_problems
from pipelines.query.needs import needs_of
from pipelines.query.query_file import Draft, Query, read_draft
from pipelines.query.yaml_file import read_yaml
from pipelines.query.zone_check import zone_problems
from pipelines.query.zones import stream_problems
from serving.catalogue.lookup import Catalogue
from serving.common.explain import Problem

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Examined:
    """A query file after all checks."""

    draft: Draft
    problems: tuple[Problem, ...]
    """In the order of the file, with line numbers; empty: the query can run."""

    def require(self) -> tuple[Query, Dag]:
        """The query, ready to run; raises QueryError with a line per problem."""
        return self.draft.require(self.problems), self._dag

    @cached_property
    def _dag(self) -> Dag:
        return compile_dag(self.draft.require(()))


def examine(path: Path, catalogue: Catalogue | None = None) -> Examined:
    """Check a query file: form, nodes, and, given a catalogue, models."""
    draft, unmet = read_draft(read_yaml(path)), list[Problem]()
    if catalogue is not None and any(needs_of(node.models) for node in draft.nodes.values()):
        from pipelines.query.model_less import with_models  # profiles, which bring numbers

        draft, unmet = with_models(draft, catalogue, measured(catalogue))
    problems = [*draft.problems, *unmet, *node_problems(draft.nodes, draft.unread), *zone_problems(draft)]
    if catalogue is not None:
        problems += model_problems(draft.nodes, catalogue, draft.query.masks if draft.query else ())
    return Examined(draft, tuple(draft.document.located(problems)))


def open_query(path: Path, catalogue: Catalogue, sources: Sequence[str] = ()) -> CompiledQuery:
    """The query, ready to run, on other sources where given; raises QueryError or SourceError."""
    found = CompiledQuery(*examine(path, catalogue).require(), catalogue)
    if not sources:
        return found
    query = found.query.with_sources(sources)
    for problem in stream_problems(query.shapes, [stream.id for stream in query.streams]):
        log.warning("%s: it lies on none of the sources that were given", problem)
    return replace(found, query=query)
