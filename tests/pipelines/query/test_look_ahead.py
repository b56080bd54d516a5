"""In which streams a detector may look ahead, and what is said of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.query.draft import load_query
from pipelines.query.look_ahead import LEAST_SLO_MS, in_words, streams_ahead
from pipelines.query.query_file import Query

CLIP = {"id": "clip", "uri": "clip.mp4"}
NEEDED = {"name": "find", "task": "detect", "model": "finder", "when": "needed"}


def query(stream: dict[str, Any] = CLIP, slo_ms: float = LEAST_SLO_MS, **more: Any) -> Query:
    nodes = more.pop("nodes", [NEEDED])
    return Query.model_validate({"version": 1, "name": "q", "slo_ms": slo_ms, "streams": [stream], "nodes": nodes})


CHOICE = {"name": "kind", "task": "recognise", "input": "find", "model": ["large", "small"]}


def test_a_recording_is_looked_ahead_in_whatever_the_slo() -> None:
    assert streams_ahead(query(slo_ms=50)) == {"clip"}
    assert "looks ahead" in in_words(query())[0]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (query({"id": "cam", "uri": "rtsp://camera/1"}), "a live source"),
        (query(CLIP | {"overload": "drop_late"}), "overload: drop_late"),
        (query(nodes=[NEEDED | {"model": ["large", "small"]}]), "several detectors"),
        (query(slo_ms=999, nodes=[NEEDED, CHOICE]), "slo_ms is below 1000"),
    ],
)
def test_where_waiting_would_cost_something_it_is_not_and_it_is_said_why(wanted: Query, why: str) -> None:
    assert streams_ahead(wanted) == frozenset()
    (line,) = in_words(wanted)
    assert why in line


def test_a_choice_of_models_may_wait_where_there_is_time() -> None:
    assert streams_ahead(query(nodes=[NEEDED, CHOICE])) == {"clip"}


def test_nothing_is_said_of_detectors_that_run_always() -> None:
    wanted = query(nodes=[NEEDED | {"when": "always"}])
    assert (streams_ahead(wanted), in_words(wanted)) == (frozenset(), [])


EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_look_ahead_in_clips(path: Path) -> None:
    wanted = load_query(path).with_sources(["clip.mp4"])
    skips = any(node.task == "detect" and node.when == "needed" for node in wanted.nodes)
    assert streams_ahead(wanted) == ({"clip"} if skips else frozenset())
