"""The query of a job, which came with a message: it may name models of this machine's catalogue, and nothing else.

A right to write to ``jobs.v1`` must not have a worker read other files, open connections or show secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from operators.capture.sources.uri import SourceUri
from pipelines.query.check import examine
from pipelines.query.dag import CompiledQuery, compiled
from pipelines.query.models.remote_models import named_backends
from pipelines.query.query_file import StreamSpec
from pipelines.query.yaml_file import Document, parse_yaml
from serving.catalogue.lookup import Catalogue
from serving.errors import QueryError

NAME = Path("the job's query")
TASKS = ("detect", "track", "recognise")


class JobQuery(NamedTuple):
    """A query, checked, on one recording."""

    data: Mapping[str, Any]
    """The parsed text."""
    wanted: CompiledQuery


def job_query(text: str, stream: str, recording: Path, known: Catalogue) -> JobQuery:
    """The query of this text on a recording, which nothing is learnt from; raises QueryError."""
    document = parse_yaml(NAME, text)
    if document.problems:
        raise QueryError(document.explain(document.problems))
    if not isinstance(document.data, dict):
        raise QueryError(f"{NAME} is no query")
    for problem in _forbidden(document.data):
        raise QueryError(f"{NAME}: {problem}")
    given = dict(document.data)
    streams = given.pop("streams", [])
    like = streams[0] if isinstance(streams, list) and streams and isinstance(streams[0], dict) else {}
    given["learning"] = {"budget": 0}
    query = examine(Document(NAME, given, document.root, ()), known).require()
    if named_backends(query.nodes):
        raise QueryError(f"{NAME}: models on backends are not for jobs")
    settings = {key: like[key] for key in ("sample", "motion_gate", "max_width") if key in like}
    try:
        spec = StreamSpec(uri=SourceUri(str(recording)), id=stream, **settings)
    except ValueError as error:
        raise QueryError(f"{NAME}: streams: {error}") from None
    return JobQuery(document.data, compiled(query.model_copy(update={"streams": (spec,)}), known))


def _forbidden(data: Mapping[str, Any]) -> Iterator[str]:
    """Parts that lead out of the catalogue, before anything is looked for."""
    if "backends" in data:
        yield "backends are not for jobs"
    nodes = data.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        if not isinstance(node, dict) or node.get("task") not in TASKS:
            yield f"a node is none of {', '.join(TASKS)}"
        elif "gallery" in node:
            yield "galleries are not for jobs: they are files"
        elif any(isinstance(each, dict) and "endpoint" in each for each in _models(node)):
            yield "endpoints are not for jobs"


def _models(node: Mapping[str, Any]) -> list[Any]:
    given = node.get("model")
    return given if isinstance(given, list) else [given]
