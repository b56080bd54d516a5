"""What the adaptation worker takes from its topics, and what it passes over with a word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.adaptation.targets import Subject
from cache_adapt.adaptation.window import SPAN_S, Sample
from pipelines.worker.adapt.messages import SampleBatch, samples_letter
from tests.pipelines.worker.adapt.installation import QUERY, SUBJECT, Installation, record


@pytest.fixture
def installation() -> Installation:
    return Installation()


def send(installation: Installation, query: str = QUERY, subject: Subject = SUBJECT, age_s: float = 0.0) -> None:
    at_s = installation.now_s() - age_s
    batch = SampleBatch(query, subject, "gate", [Sample(at_s, 1, np.zeros(8, np.float16))])
    installation.inbox.take_sample(record(samples_letter(batch, at_s)))  # type: ignore[arg-type]


def test_samples_of_this_query_are_kept_and_those_of_others_are_no_concern(
    installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    send(installation)
    send(installation, query="other")
    assert installation.adaptation.samples == 1
    assert caplog.messages == []


def test_samples_of_a_node_that_the_query_has_not_are_said_once(
    installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        send(installation, subject=replace(SUBJECT, node="face"))
    assert installation.adaptation.samples == 0
    (said,) = caplog.messages
    assert "the query has no node 'face'" in said


def test_a_clock_that_is_hours_behind_is_said(installation: Installation, caplog: pytest.LogCaptureFixture) -> None:
    send(installation, age_s=SPAN_S - 10)
    assert caplog.messages == []
    send(installation, age_s=SPAN_S + 10)
    assert installation.adaptation.samples == 1
    assert "set the clocks alike" in caplog.messages[0]
