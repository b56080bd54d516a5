"""Readers and sinks that take nothing for a while, or never again: a run waits for the first, and says so."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from operators.observer import Observer
from operators.publish import jsonl
from operators.wire.schema import Notification
from pipelines.environment import catalogue
from pipelines.observe.forward import direct
from pipelines.observe.forward.sink import Away, EventPicture
from pipelines.observe.forward.sinks_file import WebhookSpec
from pipelines.query.dag import compiled
from pipelines.run import audience
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.errors import SluiceError
from tests.pipelines.run.test_run_query import STREET, query

LEAST_PIPE = 4096


class Said(logging.Handler):
    """Waits for a word in the log."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word, self.heard = word, threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._word in record.getMessage():
            self.heard.set()


@pytest.fixture
def reader(tmp_path: Path) -> int:
    """The reading end of a pipe that holds few lines."""
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, LEAST_PIPE)
    os.set_blocking(end, True)
    return end


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Said:
    monkeypatch.setattr(jsonl, "PATIENCE_S", 0.05)
    said = Said("takes nothing: the run waits")
    logging.getLogger("operators.publish.jsonl").addHandler(said)
    return said


def test_a_reader_that_begins_late_gets_every_result_and_event_in_order(
    tmp_path: Path, reader: int, stuck: Said
) -> None:
    got = b""

    def read() -> None:
        nonlocal got
        stuck.heard.wait()
        while data := os.read(reader, 1000):
            got += data

    reading = threading.Thread(target=read)
    reading.start()
    run_query(compiled(query(STREET), catalogue([])), Outputs(str(tmp_path / "pipe"), events=str(tmp_path / "events")))
    reading.join()
    assert [json.loads(line)["seq"] for line in got.splitlines()] == list(range(30))
    assert (tmp_path / "events").read_bytes().endswith(b"\n")


def test_a_run_that_is_to_stop_does_not_wait_for_ever_for_a_reader(
    tmp_path: Path, reader: int, stuck: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audience, "LEAVING_S", 0.05)

    def interrupt() -> None:
        stuck.heard.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(SluiceError, match=r"^the reader of results at \S*pipe takes nothing: it lacks the end$"):
        run_query(compiled(query(STREET), catalogue([])), Outputs(str(tmp_path / "pipe")))


class Gone:
    """A sink that is never there."""

    keeps_states = False

    def restore(self, notice: Notification) -> None:
        raise AssertionError("nothing is restored")

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        raise Away("nobody answers")

    async def run(self) -> None:
        """Do nothing."""


class Health(Observer):
    """Ends the run once it is not well."""

    def __init__(self) -> None:
        self.problem: str | None = None

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        if problem is not None and self.problem is None:
            self.problem = problem
            os.kill(os.getpid(), signal.SIGINT)


def test_a_run_whose_sink_is_away_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "PATIENCE_S", 0.0)
    monkeypatch.setattr(direct, "CLOSE_S", 0.0)
    spec = WebhookSpec.model_validate({"name": "alarms", "to": "webhook", "url": "http://a"})
    health = Health()
    wanted = query(STREET.replace("duration_s=3", "duration_s=3600"))
    run_query(compiled(wanted, catalogue([])), Outputs(forward=[(spec, Gone())]), observers=[health])
    assert health.problem is not None
    assert health.problem.startswith("sink alarms has taken nothing for ")
    assert health.problem.endswith(": nobody answers")
