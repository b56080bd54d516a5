"""``sluice run`` as a person meets it: real sources, real files, every frame accounted for."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest

from operators.capture.sources.uri import SourceUri
from operators.observer import Observer, Observers
from operators.wire.schema import StreamStatus
from pipelines.assembly.environment import Environment
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.run import run_query as run_query_module
from pipelines.run.audience import Audience
from pipelines.run.capture_specs import capture_specs
from pipelines.run.embedded import EmbeddedRun
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.backend import Backend
from serving.errors import SluiceError, SourceError
from tests.pipelines.plain_executor import build_executor

STREET = "synthetic:street?seed=3&duration_s=3&fps=10&width=320&height=180"
NODES = [
    {"name": "detect", "task": "detect", "model": "motion"},
    {"name": "track", "task": "track", "input": "detect"},
]


def query(*uris: str, **more: object) -> Query:
    streams = [{"id": f"s{i}", "uri": uri} for i, uri in enumerate(uris)]
    return Query.model_validate(
        {"version": 1, "name": "test", "slo_ms": 60_000, "streams": streams, "nodes": NODES, **more}
    )


def run(wanted: Query, **outputs: object) -> dict:
    report = run_query(compiled(wanted, catalogue([])), Outputs(**outputs))  # type: ignore[arg-type]
    return report.to_builtins()


def write_clip(path: Path, frames: int = 20) -> Path:
    """A clip with a bright square that moves over noise."""
    rng = np.random.default_rng(0)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for i in range(frames):
            image = rng.integers(90, 120, (180, 320, 3), dtype=np.uint8)
            image[60:120, 10 * i : 10 * i + 60] = 250
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(stream.encode())
    return path


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_sampled_frame_has_one_result_and_the_files_tell_the_same(tmp_path: Path) -> None:
    out, video, report = tmp_path / "r.jsonl", tmp_path / "out.mp4", tmp_path / "rep.json"
    clip = write_clip(tmp_path / "clip.mp4")
    summary = run(query(str(clip)), results=str(out), annotated=video, report=report)
    results = lines(out)
    assert [r["seq"] for r in results] == list(range(20))
    assert {r["outcome"] for r in results} == {"analysed"}
    assert len({r["run"] for r in results}) == 1
    assert any(r["objects"] for r in results)
    assert json.loads(report.read_text()) == summary
    assert summary["frames"] == {"sampled": 20, "analysed": 20, "dropped": 0, "failed": 0}
    assert summary["objects"] == {"moving": sum(len(r["objects"]) for r in results)}
    with av.open(str(video)) as container:
        assert len(list(container.decode(video=0))) == 20


def test_a_clip_can_start_over(tmp_path: Path) -> None:
    out, clip = tmp_path / "r.jsonl", write_clip(tmp_path / "clip.mp4")
    wanted = compiled(query(str(clip)), catalogue([]))
    run_query(wanted, Outputs(str(out)), limit=50, loop=True)
    assert [r["seq"] for r in lines(out)] == list(range(50))


def test_shortcuts_answer_under_audit_and_the_report_tells_how_far_they_agree(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    kind = {
        "name": "kind",
        "task": "recognise",
        "input": "track",
        "answer": "look",
        "model": ["vehicle-type-compact", "vehicle-type"],
    }
    # A short clip shows little of how far a compact model agrees, so little is asked of it.
    summary = run(query(STREET, nodes=[*NODES, kind], accuracy=0.001), results=str(out))
    answers = [each["attributes"][0] for result in lines(out) for each in result["objects"]]
    by_shortcut = [each for each in answers if each["provenance"] == "variant"]
    assert {each["model"]["name"] for each in by_shortcut} == {"vehicle-type-compact"}
    (audit,) = summary["audits"]
    assert (audit["stream"], audit["node"], audit["oracle"]) == ("s0", "kind", "vehicle-type")
    assert audit["answers"] == len(answers) > 0
    assert audit["shortcut_share"] == pytest.approx(len(by_shortcut) / len(answers), abs=1e-4)
    # How many audits there is time for decides whether the last of them have put it on probation once more.
    assert audit["phase"] in ("trusted", "probation")
    assert audit["agreement"]["disagreements"] < audit["audits"]
    assert {each["provenance"] for each in answers[:5]} == {"oracle"}


def test_a_node_may_answer_for_tracks_specialise_and_list_variants(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    kind = {
        "name": "kind",
        "task": "recognise",
        "input": "track",
        "model": ["vehicle-type-compact", "vehicle-type"],
        "specialize": True,
    }
    street = "synthetic:street?duration_s=8&width=320&height=180&seed=3"
    summary = run(query(street, nodes=[*NODES, kind], accuracy=0.5), results=str(out))
    found = lines(out)
    answers = [each["attributes"] for result in found for each in result["objects"]]
    assert {len(attributes) for attributes in answers} == {1}
    tracked = [each for result in found for each in result["objects"] if each["track_id"] is not None]
    assert {each["attributes"][0]["provenance"] for each in tracked} == {"track"}
    by = Counter(each.get("looked") if "looks" in each else each["provenance"] for (each,) in answers)
    assert set(by) == {None, "oracle"}  # nobody has proven anything yet
    audits = {audit["kind"]: audit for audit in summary["audits"]}
    assert list(audits) == ["specialised", "variant"]
    assert (audits["variant"]["phase"], audits["variant"]["shortcut_share"]) == ("shadow", 0.0)
    pools = {each["track_id"] for each in tracked}
    assert len(pools) <= audits["variant"]["answers"] <= len(pools) + 1  # two objects meet on one track
    (figures,) = summary["specialization"]
    assert (figures["reused"], figures["head"]) == (by[None], by["specialised"])
    planned = [result["plan"]["nodes"]["kind"] for result in found]
    assert {each["variant"] for each in planned} <= {"vehicle-type-compact", "vehicle-type"}
    assert not any(each.get("cause") for each in planned)


def test_the_oracle_alone_is_not_audited() -> None:
    kind = {"name": "kind", "task": "recognise", "input": "track", "model": ["street-kind"]}
    assert run(query(STREET, nodes=[*NODES, kind]))["audits"] == []


def test_what_sinks_wait_for_in_the_end_is_no_time_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink that is away has ten seconds then."""
    now_s, attending = [100.0], Audience.attending

    @asynccontextmanager
    async def slow_to_leave(self: Audience, stop: asyncio.Event) -> AsyncIterator[None]:
        async with attending(self, stop):
            yield
        now_s[0] += 10

    monkeypatch.setattr(Audience, "attending", slow_to_leave)
    monkeypatch.setattr(run_query_module, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    assert run(query(STREET))["wall_s"] == 0


def test_streams_run_together_each_unbroken(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    run(query(STREET, STREET + "&seed=4", str(write_clip(tmp_path / "clip.mp4"))), results=str(out))
    for stream, count in (("s0", 30), ("s1", 30), ("s2", 20)):
        assert [r["seq"] for r in lines(out) if r["stream"] == stream] == list(range(count))


def test_a_missing_source_is_told_and_its_neighbour_analysed_to_the_end(tmp_path: Path) -> None:
    out, report = tmp_path / "r.jsonl", tmp_path / "rep.json"
    with pytest.raises(SourceError, match=r"stream s0: .*nowhere\.mp4: no such file"):
        run(query("nowhere.mp4", STREET), results=str(out), report=report)
    assert [r["seq"] for r in lines(out)] == list(range(30))
    assert json.loads(report.read_text())["frames"]["analysed"] == 30


def test_a_result_that_cannot_be_written_ends_the_run_with_one_line() -> None:
    with pytest.raises(SluiceError, match="cannot write results to /dev/full: No space left on device"):
        run(query(STREET), results="/dev/full")


def test_a_report_for_which_the_disk_has_no_room_ends_with_one_line(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=2)
    with pytest.raises(SluiceError, match="cannot write the report to /dev/full: No space left on device"):
        run(query(str(clip)), report=Path("/dev/full"))


def test_a_run_in_which_every_frame_failed_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr("operators.detect.motion.MotionDetector.process", fail)
    with pytest.raises(SluiceError, match="no frame could be analysed: detect: RuntimeError: no memory"):
        run(query(STREET))


def test_a_report_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="cannot write the report"):
        run(query(STREET), report=tmp_path / "no" / "rep.json")


class States(Observer):
    """Every state of a stream."""

    def __init__(self) -> None:
        self.seen: list[StreamStatus] = []

    def stream_state_changed(self, status: StreamStatus) -> None:
        self.seen.append(status)


async def test_stop_ends_an_endless_source_and_every_frame_sampled_has_its_result() -> None:
    wanted = query(STREET)
    (spec,) = capture_specs(wanted, loop=True)
    seen: list[int] = []
    stop, states = asyncio.Event(), States()
    engine = Backend(catalogue([]))
    await engine.start()
    of = compiled(wanted, catalogue([]))
    executor = await build_executor(of, Environment.of(of, engine))
    async for found in EmbeddedRun([spec], Observers([states])).results(executor, stop):
        seen.append(found.result.seq)
        if found.result.seq == 50:
            stop.set()
    await engine.stop()
    assert seen == list(range(states.seen[-1].frames))
    assert states.seen[-1].state == "ended"


def test_an_interrupt_finishes_the_frames_in_flight_and_exits_0(tmp_path: Path) -> None:
    path, out = tmp_path / "q.yaml", tmp_path / "r.jsonl"
    text = query(STREET.replace("duration_s=3", "duration_s=600")).model_dump_json(exclude={"streams"})
    path.write_text(text)
    source = STREET.replace("duration_s=3", "duration_s=600")
    command = [sys.executable, "-m", "pipelines.cli", "run", str(path), "--source", source, "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        killer = threading.Timer(120, process.kill)
        killer.start()
        while process.poll() is None and not (out.exists() and out.read_bytes().count(b"\n") > 20):
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate()
        killer.cancel()
    assert process.returncode == 0, errors
    results = lines(out)
    assert [r["seq"] for r in results] == list(range(len(results)))
    assert f"{len(results)} frames in" in output
    assert "Traceback" not in errors


def test_the_uri_in_a_state_is_redacted() -> None:
    spec = capture_specs(query("rtsp://viewer:hunter2@camera.invalid/yard"))[0]
    assert "hunter2" not in repr(spec)
    assert isinstance(spec.uri, SourceUri)
