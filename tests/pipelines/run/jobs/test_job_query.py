"""A query that came with a message names models of this machine, and nothing else."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from operators.capture.sources.uri import SourceUri
from pipelines.environment import catalogue
from pipelines.query.query_file import Fps
from pipelines.run.jobs.job_query import JobQuery, job_query
from serving.common import explain
from serving.errors import QueryError

GOOD = """
version: 1
name: test
slo_ms: 1000
streams: [{id: door, uri: "rtsp://user:${PASSWORD}@camera/1", sample: {fps: 5}, motion_gate: true, overload: drop_late}]
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: type, task: recognise, input: detect, model: [vehicle-type, vehicle-type-compact], specialize: true}
"""


HEAD = "version: 1\nname: test\nslo_ms: 1000\n"
MANY: dict[str, tuple[str, Callable[[int], str], str]] = {
    "keys": (HEAD + "nodes: [{name: a, task: detect, model: motion}]\n", lambda n: f"k{n}: 1\n", ""),
    "keys of a node": (HEAD + "nodes: [{name: a, task: detect, model: motion, ", lambda n: f"k{n}: 1, ", "}]"),
    "models": (HEAD + "nodes: [{name: a, task: detect, model: [", lambda n: f"m{n}, ", "]}]"),
    "labels": (HEAD + "nodes: [{name: a, task: detect, model: motion, labels: [", lambda n: f"l{n}, ", "]}]"),
    "nodes": (HEAD + "nodes: [", lambda n: f"{{name: n{n}, task: detect, k{n}: 1}}, ", "]"),
    "zones": (HEAD + "nodes: [{name: a, task: detect, model: motion}]\nzones: [", lambda n: f"{{k{n}: 1}}, ", "]"),
    "the same key": (HEAD, lambda n: "name: a\n", ""),
}


def read(text: str) -> JobQuery:
    return job_query(text, "gate", Path("/archive/a.mp4"), catalogue([]))


def test_it_is_about_the_recording_sampled_as_its_first_stream_and_learns_nothing() -> None:
    query = read(GOOD).wanted.query
    (stream,) = query.streams
    assert (stream.id, stream.uri, stream.sample) == ("gate", SourceUri("/archive/a.mp4"), Fps(fps=5))
    assert stream.motion_gate
    assert stream.overload_policy == "block"
    assert not query.learns
    assert not query.takes_exits


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not valid YAML"),
        ("[1, 2]", "is no query"),
        ("", "is no query"),
        ("a: &x 1\nb: *x", "aliases"),
        ("version: 1\nname: x", "nodes"),
        (GOOD + "backends: {gpu: {url: 'grpc://a:1'}}\n", "backends are not for jobs"),
        (GOOD + "  - {name: who, task: recognise, input: detect, model: v, gallery: /etc}\n", "galleries are not for"),
        (
            GOOD + "  - {name: ask, task: recognise, input: detect, model: {endpoint: 'http://a', name: m}}\n",
            "endpoints are not for jobs",
        ),
        (GOOD + "  - {name: own, task: mine}\n", "a node is none of detect"),
        (GOOD + "  - 3\n", "a node is none of detect"),
        (GOOD + "  - {name: far, task: recognise, input: detect, model: vehicle-type on gpu}\n", "gpu"),
        (GOOD.replace("model: motion", "model: ../../x"), "../../x"),
        (GOOD.replace("{fps: 5}", "{fps: -1}"), "streams"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=re.escape(said)):
        read(text)


@pytest.mark.parametrize("what", MANY)
def test_one_that_is_wrong_in_every_word_is_looked_at_no_further_than_can_be_told(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, look = [], explain.choices

    def counted(word: object, known: Iterable[str]) -> str:
        looked.append(word)
        return look(word, known)

    for name, module in list(sys.modules.items()):
        if name.startswith(("pipelines.", "serving.")) and getattr(module, "choices", None) is look:
            monkeypatch.setattr(module, "choices", counted)
    begin, item, end = MANY[what]
    with pytest.raises(QueryError) as refused:
        read(begin + "".join(map(item, range(5000))) + end)
    assert len(looked) <= explain.LOOKED_AT + 2 * explain.MOST_PROBLEMS
    lines = str(refused.value).splitlines()
    assert len(lines) <= 1 + explain.MOST_PROBLEMS
    assert ("more than 100 things are wrong" in lines[0]) is (what != "models"), lines[:3]
