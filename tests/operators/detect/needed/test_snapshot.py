"""What was learnt of a stream's pace goes with the stream to another worker."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.detect.needed.needed_stream import SkipTerms
from operators.detect.needed.operator import DetectWhenNeeded
from operators.detect.needed.pace import (
    FIRST_REST,
    LARGEST_BYTES,
    LONGEST_REST,
    MOST_CREDIT,
    PACES,
    SkipPace,
    from_json,
    to_json,
)
from operators.testing.builders import CALL, make_frame
from operators.testing.engine import FakeEngine

TOLERANCE, ACCURACY = 0.05, 0.95


class Nothing:
    """A detector that finds nothing."""

    async def process(self, *_: object) -> list[Any]:
        return []

    def forget(self, stream: str) -> None: ...


def needed(model: str = "finder", accuracy: float = ACCURACY) -> DetectWhenNeeded:
    return DetectWhenNeeded("find", Nothing(), model, SkipTerms(accuracy, 0.3, FakeEngine()))


async def after_a_frame(operator: DetectWhenNeeded) -> SkipPace:
    await operator.process(make_frame(), (), CALL)
    return operator._streams.here("cam").pace


def proven(pace: SkipPace) -> SkipPace:
    while pace.every < PACES[-1] or not pace.proven:
        pace.tell(pace.every, 1.0, 0.0)
    return pace


def disproven(pace: SkipPace) -> SkipPace:
    while pace.every > 1:
        pace.tell(pace.every, 1.0, 1.0)
    return pace


def saved(pace: SkipPace) -> bytes:
    return to_json(pace.learnt, "finder", ACCURACY)


async def test_the_next_worker_goes_on_at_the_pace_that_was_proven() -> None:
    first, second = needed(), needed()
    assert first.snapshot("cam") is None
    proven(await after_a_frame(first))
    data = first.snapshot("cam")
    assert data is not None
    second.restore("cam", data)
    pace = await after_a_frame(second)
    assert (pace.every, pace.proven) == (PACES[-1], True)
    assert second.snapshot("cam") == data
    second.forget("cam")
    assert (await after_a_frame(second)).every == 3


async def test_a_stream_that_never_comes_leaves_nothing() -> None:
    operator = needed()
    operator.restore("cam", saved(proven(SkipPace(TOLERANCE))))
    operator.forget("cam")
    assert (await after_a_frame(operator)).every == 3


def test_a_pace_that_failed_rests_as_long_as_it_had_to() -> None:
    before = disproven(SkipPace(TOLERANCE))
    for _ in range(500):
        before.frame()
    after = SkipPace.after(TOLERANCE, before.learnt)
    assert after.slowed == before.slowed == 2
    frames = 0
    while after.every == 1:
        after.frame()
        frames += 1
    assert frames == FIRST_REST - 500


def test_audits_weigh_the_same_before_and_after() -> None:
    one, rng = SkipPace(TOLERANCE), np.random.default_rng(3)
    audits = [(float(rng.uniform(0.5, 2.0)), float(rng.random() < 0.03)) for _ in range(600)]
    other = SkipPace.after(TOLERANCE, one.learnt)
    for weight, deficit in audits:
        one.tell(one.every, weight, deficit)
        other.tell(other.every, weight, deficit)
        data = to_json(other.learnt, "finder", ACCURACY)
        learnt = from_json(data, "finder", ACCURACY, "here")
        assert learnt is not None
        other = SkipPace.after(TOLERANCE, learnt)
        assert other.learnt == one.learnt


def test_a_snapshot_that_names_no_credit_has_all_of_it() -> None:
    found = json.loads(saved(SkipPace(TOLERANCE)))
    del found["learnt"]["credit"]
    learnt = from_json(json.dumps(found).encode(), "finder", ACCURACY, "here")
    assert learnt is not None
    assert learnt.credit == MOST_CREDIT


@pytest.mark.parametrize(("model", "accuracy"), [("another", ACCURACY), ("finder", 0.9)])
async def test_under_other_conditions_the_stream_begins_anew(model: str, accuracy: float) -> None:
    operator = needed(model, accuracy)
    operator.restore("cam", saved(proven(SkipPace(TOLERANCE))))
    assert (await after_a_frame(operator)).every == 3


def changed(**values: Any) -> bytes:
    found = json.loads(saved(SkipPace(TOLERANCE)))
    found.update({key: value for key, value in values.items() if key in found})
    found["learnt"].update({key: value for key, value in values.items() if key not in found})
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 5000,
        b" " * (LARGEST_BYTES + 1) + saved(SkipPace(TOLERANCE)),
        changed(version=2),
        changed(version="1"),
        changed(model=None),
        changed(step=len(PACES)),
        changed(step=-1),
        changed(weight=-1.0),
        changed(deficits=1e300),
        changed(audits=2**70),
        changed(failures=[10**9] * len(PACES)),
        changed(failures=[0]),
        changed(rests=[LONGEST_REST + 1] * len(PACES)),
        changed(rests=[0] * 10_000),
        changed(proven=1),
        changed(credit=0.0),
        changed(credit=MOST_CREDIT + 1),
    ],
)
async def test_what_nobody_wrote_is_logged_and_ignored(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    operator = needed()
    with caplog.at_level(logging.WARNING):
        operator.restore("cam", data)
    (record,) = caplog.records
    assert "stream cam, node find: the snapshot" in record.getMessage()
    assert (await after_a_frame(operator)).every == 3


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_raise_nothing(data: bytes) -> None:
    needed().restore("cam", data)
