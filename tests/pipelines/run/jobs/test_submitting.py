"""Commands about jobs where the broker goes away in the middle; with a broker: ``tests/integration``."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from kafka.errors import KafkaTimeoutError

from operators.capture.sources.uri import SourceUri
from operators.wire.schema import JobOrder, from_json
from pipelines.query.query_file import StreamSpec
from pipelines.run.jobs import submitting
from pipelines.run.jobs.submitting import JobsAt, NewJob, cancel, standing, submit
from pipelines.settings import BrokerSettings
from serving.errors import Unavailable

AT = JobsAt(BrokerSettings(("127.0.0.1:1",)), "jobs", "group", 1.0)
LINE = "127.0.0.1:1.* topic jobs: .*no answer.*: try again"


def test_a_broker_that_goes_away_while_a_job_is_looked_at_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Mock(**{"partitions_for_topic.return_value": {0}, "committed.side_effect": KafkaTimeoutError("no answer")})
    monkeypatch.setattr(submitting, "consumer", lambda *_, **__: reader)
    with pytest.raises(Unavailable, match=LINE):
        standing(AT, "night")
    reader.close.assert_called_once()


def test_a_broker_that_goes_away_while_a_job_is_ended_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    producer = Mock(**{"partitions_for.return_value": {0}, "send.side_effect": KafkaTimeoutError("no answer")})
    for name, made in (("admin", Mock()), ("demand", None), ("frames_producer", producer), ("standing", None)):
        monkeypatch.setattr(submitting, name, lambda *_, made=made: made)
    with pytest.raises(Unavailable, match=LINE):
        cancel(AT, "night")
    producer.close.assert_called_once()


def test_a_recording_whose_name_is_no_text_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    producer = Mock(**{"partitions_for.return_value": {0}})
    for name, made in (("admin", Mock()), ("demand", None), ("frames_producer", producer), ("recording_length_s", 1.0)):
        monkeypatch.setattr(submitting, name, lambda *_, made=made: made)
    named = {"a": b"a\n'\xc3\xbc.mp4", "b": b"b\xff.mp4"}
    streams = [StreamSpec(id=name, uri=SourceUri(str(tmp_path / os.fsdecode(file)))) for name, file in named.items()]
    found = submit(AT, NewJob("night", "jsonl", "a query", streams, tmp_path))
    (sent,) = producer.send.call_args_list
    chunk = from_json(sent.args[1], JobOrder).chunk
    assert chunk is not None
    assert (found.recordings, chunk.recordings, chunk.source) == (1, 1, "a\n'ü.mp4")
    assert "its name is no text in UTF-8" in found.unreadable["b"]
