"""What the sending side logs, and that it logs it once."""

from __future__ import annotations

import pytest
from kafka.errors import InvalidTimestampError

from operators.publish.sending import SILENT_S, SendLog


@pytest.fixture
def log() -> SendLog:
    return SendLog("frames.v1", 64_000_000)


def test_silence_is_that_of_a_message_on_its_way(log: SendLog, caplog: pytest.LogCaptureFixture) -> None:
    log.watch(answered_at=0.0, now=1000.0)
    log.sending("gate", now=1000.0)
    log.watch(answered_at=0.0, now=1000.0 + SILENT_S)
    assert not caplog.records
    log.watch(answered_at=0.0, now=1000.1 + SILENT_S)
    log.watch(answered_at=0.0, now=2000.0)
    assert [record.getMessage() for record in caplog.records] == [
        "the broker does not answer: frames wait in a buffer of 64 MB"
    ]


def test_a_message_that_ended_is_not_waited_for(log: SendLog, caplog: pytest.LogCaptureFixture) -> None:
    log.sending("gate", now=0.0)
    log.ended("gate")
    log.watch(answered_at=0.0, now=1000.0)
    assert not caplog.records


def test_each_absence_is_logged_once_with_its_end(log: SendLog, caplog: pytest.LogCaptureFixture) -> None:
    log.answers(0)
    for _ in range(2):
        log.refused(TimeoutError())
        log.refused(TimeoutError())
        log.buffer_full()
        log.buffer_full()
        log.answers(3)
        log.answers(3)
    assert [record.getMessage().split(":")[0] for record in caplog.records] == 2 * [
        "the broker takes no frames (TimeoutError)",
        "the buffer for frames is full",
        "the broker answers again; frames without image so far",
    ]


def test_a_broker_that_refuses_the_time_of_frames_is_said_to_want_another_clock(
    log: SendLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.refused(InvalidTimestampError())
    (message,) = caplog.messages
    assert "set the clock of this machine, or let `sluice topics create --update`" in message


def test_frames_too_large_are_logged_once_for_each_stream(log: SendLog, caplog: pytest.LogCaptureFixture) -> None:
    for stream in ("gate", "yard", "gate"):
        log.too_large(stream, 9_000_000)
    gate, yard = (record.getMessage() for record in caplog.records)
    assert gate.startswith("stream gate: a frame of 9000000 bytes is larger than topic frames.v1 accepts")
    assert yard.startswith("stream yard")
