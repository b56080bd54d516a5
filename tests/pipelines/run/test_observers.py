"""Who watches a run hears of everything that happens in it, and cannot disturb it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from operators.detect.motion import MotionDetector
from operators.frames.frame import Frame
from operators.observer import HOOKS, Observer, Observers
from operators.wire.schema import Result
from pipelines.assembly.environment import Environment
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.feed import FRAMES_IN_FLIGHT
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.backend import Backend
from tests.pipelines.observe.record.scenes import recording
from tests.pipelines.plain_executor import build_executor
from tests.pipelines.run.recording import Recording

ROOT = Path(__file__).parents[3]
DETECT = {"name": "detect", "task": "detect", "model": "motion"}
TRACK = {"name": "track", "task": "track", "input": "detect"}
KIND = {
    "name": "kind",
    "task": "recognise",
    "input": "track",
    "answer": "look",
    "model": ["vehicle-type-compact", "vehicle-type"],
    "min_confidence": 0.0,
    "specialize": True,
}
FAILING = 5


def query(*nodes: dict[str, object], duration_s: int) -> Query:
    street = f"synthetic:street?seed=3&duration_s={duration_s}&fps=10&width=320&height=180"
    streams = [{"id": "gate", "uri": street}]
    return Query.model_validate(
        {"version": 1, "name": "test", "slo_ms": 60_000, "accuracy": 0.02, "streams": streams, "nodes": nodes}
    )


def fails_once(monkeypatch: pytest.MonkeyPatch) -> None:
    process = MotionDetector.process

    async def failing(self: MotionDetector, frame: Frame, *given: Any) -> Any:
        if frame.seq == FAILING:
            raise ValueError("a frame to fail at")
        return await process(self, frame, *given)

    monkeypatch.setattr(MotionDetector, "process", failing)


def test_a_run_is_heard_of_and_observers_that_raise_cost_it_only_lines_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fails_once(monkeypatch)
    heard, out = Recording(raises=True), tmp_path / "results.jsonl"
    wanted = query(DETECT, TRACK, KIND, duration_s=8)
    outputs = Outputs(str(out), record=recording(tmp_path / "kept"))
    report = run_query(compiled(wanted, catalogue([])), outputs, observers=[heard])
    results = [json.loads(line) for line in out.read_text().splitlines()]
    count = len(results)
    calls = heard.calls

    assert [seq for _, seq in calls["frame_captured"]] == list(range(count))
    assert [result.seq for (result,) in calls["frame_failed"]] == [FAILING]
    analysed = [result.seq for (result,) in calls["frame_analysed"]]
    assert analysed == [result["seq"] for result in results if result["outcome"] == "analysed"]
    assert (report.frames.analysed, report.frames.failed) == (len(analysed), 1) == (count - 1, 1)

    ran = [(node, regions) for _, node, _, regions in calls["node_ran"]]
    assert [node for node, _ in ran] == ["detect", "track", "kind"] * len(analysed)
    assert sum(regions for node, regions in ran if node == "kind") == sum(report.objects.values())
    assert all(took_ms > 0 for _, _, took_ms, _ in calls["node_ran"])

    answers = [each["attributes"][0] for result in results for each in result["objects"]]
    looked = [each["provenance"] for each in answers]
    (proven,) = [each.plan for each in report.audits if each.plan.kind == "variant"]
    assert {call[:3] for call in calls["shortcut_answered"]} == {("gate", "kind", "variant")}
    assert sum(call[3] for call in calls["shortcut_answered"]) == looked.count("variant")
    assert looked.count("variant") > 0
    assert len(calls["audit_done"]) == proven.audits > 0
    assert {call[:3] for call in calls["audit_done"]} == {("gate", "kind", "variant")}
    told = sum(len(found.read_text().splitlines()) for found in (tmp_path / "kept").glob("*/causes.jsonl"))
    heard_of = [found for (found,) in calls["event_found"] if found.type != "count"]
    assert 0 < told <= len(heard_of) + len(calls["audit_disagreed"])
    assert list((tmp_path / "kept").glob("*/00000.jpg"))

    assert "vehicle-type-compact" in {network for network, _, _ in calls["model_loaded"]}
    assert all(took_s > 0 and size > 0 for _, took_s, size in calls["model_loaded"])
    assert looked.count("variant") <= sum(items for _, items, _ in calls["network_ran"])
    assert [status.state for (status,) in calls["stream_state_changed"]] == ["starting", "running", "ended"]
    assert calls["stream_dropped"] == [("gate",)]

    logged = [record.getMessage() for record in caplog.records if record.name == "operators.observer"]
    assert sorted(logged) == [
        f"observer Recording: {hook} raised RuntimeError: {hook} is not wanted; this is logged once"
        for hook in sorted(calls)
    ]
    assert set(HOOKS) - set(calls) - {"model_unloaded", "audit_disagreed"} == {
        *(
            "budget_stands",
            "frame_dropped",
            "frame_left_out",
            "frame_replaced",
            "frames_missing",
            "exits_made",
            "notification_ended",
            "sink_checked",
            "worker_waits",
        ),
    }
    threads = {hook: heard.threads[hook] for hook in calls}
    assert threads.pop("network_ran") == {"device"}
    capture = [threads.pop(hook) for hook in ("frame_captured", "stream_state_changed")]
    assert not {"MainThread", "device"} & set().union(*capture)
    assert set().union(*threads.values()) == {"MainThread"}


async def test_frames_that_nobody_had_time_for_are_heard_of(caplog: pytest.LogCaptureFixture) -> None:
    wanted, heard, behind = query(DETECT, duration_s=2), Recording(), FarBehind()

    async def waits(frame: Frame, result: Result) -> None:
        await behind.reached.wait()

    engine = Backend(catalogue([]))
    await engine.start()
    of = compiled(wanted, catalogue([]))
    executor = await build_executor(of, Environment.of(of, engine), [waits])
    run = EmbeddedRun(capture_specs(wanted, realtime=True), Observers([heard, behind]))
    async with asyncio.timeout(60):
        assert len([found async for found in run.results(executor, asyncio.Event())]) == 20
    await engine.stop()
    lost = [header.seq for (header,) in heard.calls["frame_replaced"]]
    assert lost
    assert lost == [result.seq for (result,) in heard.calls["frame_dropped"]]
    assert {result.cause for (result,) in heard.calls["frame_dropped"]} == {"capture_overrun"}
    analysed = [result.seq for (result,) in heard.calls["frame_analysed"]]
    assert sorted(lost + analysed) == [seq for _, seq in heard.calls["frame_captured"]] == list(range(20))
    assert not [record for record in caplog.records if record.name == "operators.observer"]


class FarBehind(Observer):
    """Says when capture is so far ahead that it must have given up frames."""

    def __init__(self) -> None:
        self.reached, self._loop = asyncio.Event(), asyncio.get_running_loop()

    def frame_captured(self, stream: str, seq: int) -> None:
        if seq > 2 * FRAMES_IN_FLIGHT + 2:
            self._loop.call_soon_threadsafe(self.reached.set)


def test_the_documentation_lists_every_hook() -> None:
    page = (ROOT / "docs" / "how-to" / "add-an-observer.md").read_text()
    table = page.split("| Hook |")[1].split("\n\n")[0]
    listed = [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(listed) == sorted(HOOKS)
