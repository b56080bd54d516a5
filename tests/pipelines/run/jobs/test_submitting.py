"""Commands about jobs where the broker goes away in the middle; with a broker: ``tests/integration``."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from kafka.errors import KafkaTimeoutError

from pipelines.run.jobs import submitting
from pipelines.run.jobs.submitting import JobsAt, cancel, standing
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
