"""``sluice run`` with networks that never return."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pipelines.run
from pipelines.process.signals import stop_when_hung
from serving.errors import SluiceError
from tests.endless import looping_model, slow_to_open_model
from tests.real.command import environment, sluice

STREET = Path(pipelines.run.__file__).with_name("street.mp4")
QUERY = """\
version: 1
name: endless
slo_ms: 5000
streams:
  - uri: "synthetic:street?seed=3&duration_s=3&fps=10&width=320&height=180"
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: kind, task: recognise, input: detect, model: MODEL}
"""


def run(tmp_path: Path, model: str) -> tuple[int, list[str]]:
    query = tmp_path / "q.yaml"
    query.write_text(QUERY.replace("MODEL", model))
    said = sluice("run", query, "--models", tmp_path, env={"SLUICE_MODEL_TIMEOUT": "0.5"}, timeout_s=120)
    return said.returncode, said.stderr.splitlines()


def test_a_loop_that_starts_in_mid_stream_fails_its_frames_and_the_run_goes_on_to_its_end(tmp_path: Path) -> None:
    looping_model(tmp_path)
    status, errors = run(tmp_path, "endless")
    assert status == 0, errors
    first, *others = errors
    assert first.startswith("sluice: model 'endless' did not return from a batch of ")
    assert 1 <= len(others) <= 2, "it is said the first time and the tenth"
    assert all("stream street-3: node kind: OutOfService" in each for each in others), others


def test_a_loop_at_the_first_run_ends_the_command_with_one_line(tmp_path: Path) -> None:
    looping_model(tmp_path, above=-1)
    status, errors = run(tmp_path, "endless")
    assert status == 2
    assert errors[-1].startswith("sluice: error: model 'endless' did not return from being loaded and run once within")
    assert "Traceback" not in "".join(errors)


def test_a_thread_that_nobody_can_free_does_not_hold_up_the_end(tmp_path: Path) -> None:
    slow_to_open_model(tmp_path, products=4000)
    status, errors = run(tmp_path, "slow")
    assert (status, len([line for line in errors if "'slow' did not return" in line])) == (2, 1), errors


HANGS = """
import threading
from serving.engines import groups

run, asked = groups.NetworkGroup.run, []

def returns_once(*said):  # what a run shows it before the first frame
    asked.append(said)
    return run(*said) if len(asked) == 1 else threading.Event().wait()

groups.NetworkGroup.run = returns_once
from pipelines.cli import main
main()
"""


def test_a_network_that_nobody_can_end_fails_its_frames_and_ends_the_command_with_an_error(tmp_path: Path) -> None:
    looping_model(tmp_path)
    query, results = tmp_path / "q.yaml", tmp_path / "results.jsonl"
    query.write_text(QUERY.replace("MODEL", "endless").replace("duration_s=3&", "duration_s=3000&"))
    command = [sys.executable, "-c", HANGS, "run", str(query), "--models", str(tmp_path), "--out", str(results)]
    done = subprocess.run(
        command, env=environment() | {"SLUICE_MODEL_TIMEOUT": "0.5"}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith("sluice: error: a network did not return and keeps processor cores")
    outcomes = {json.loads(line)["outcome"] for line in results.read_text().splitlines()}
    assert "failed" in outcomes


LOADS = """
import asyncio, sys
from pipelines.assembly import parts

async def nodes(*_said):
    print("loading", file=sys.stderr, flush=True)
    await asyncio.Event().wait()

parts.nodes = nodes
from pipelines.cli import main
main()
"""


@pytest.mark.parametrize("command", ["run", "submit"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_ends_a_command_whose_networks_are_being_loaded(
    tmp_path: Path, command: str, number: signal.Signals, status: int
) -> None:
    query, clip = tmp_path / "q.yaml", tmp_path / "clip.mp4"
    query.write_text(QUERY.replace("MODEL", "vehicle-type"))
    clip.write_bytes(STREET.read_bytes())
    line = [
        sys.executable,
        "-c",
        LOADS,
        command,
        str(query),
        "--source",
        str(clip),
        "--out",
        str(tmp_path / "out.jsonl"),
    ]
    with subprocess.Popen(line, env=environment(), stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        assert any("loading" in said for said in started.stderr)
        started.send_signal(number)
        try:
            assert started.wait(60) == status
        finally:
            started.kill()
        assert started.stderr.read() == ""


async def test_a_process_whose_network_hangs_is_stopped_in_good_order_and_fails() -> None:
    hung, stop = asyncio.Event(), asyncio.Event()
    hung.set()
    with pytest.raises(SluiceError, match=r"a network did not return and keeps processor cores busy"):
        async with stop_when_hung(hung, stop):
            await stop.wait()
    async with stop_when_hung(asyncio.Event(), asyncio.Event()):
        pass
