"""The benchmark of exits on changing streams: what is drawn, what looks are charged, what the headline sums up."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.caches_locality import headline
from benchmarks.caches_locality_parts.plot import draw
from benchmarks.caches_locality_parts.streams import CLASSES, PHASES, WINDOWS, Pool, streams
from benchmarks.exit_parts.recorded import Recorded, RecordedEngine, numbers_of, picture
from operators.testing import card_of
from serving.catalogue.cards import ImageInput
from serving.engines.exits import ExitResult, ExitSet, RowPolicy
from serving.preprocess import batch
from serving.scheduling.requests import Urgency


def test_classes_change_at_once_or_step_by_step():
    for stream in streams(np.random.default_rng(0)):
        shares = np.array([stream.shares(window) for window in range(PHASES * WINDOWS)])
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        changes = (np.abs(np.diff(shares, axis=0)).sum(axis=1) > 1e-9).nonzero()[0].tolist()
        abrupt = [phase * WINDOWS - 1 for phase in range(1, PHASES)]
        assert changes == (list(range((PHASES - 1) * WINDOWS)) if stream.gradual else abrupt)


def test_an_image_comes_again_only_when_all_others_of_its_class_have_come():
    labels = np.zeros(40, int)
    drawn = Pool(labels, np.random.default_rng(0)).draw(np.eye(CLASSES)[0], 60)
    assert len(set(drawn[:40])) == 40
    assert len(set(drawn[40:])) == 20


INPUT = ImageInput(width=32, height=32, scale=1 / 255, mean=(0.5, 0.4, 0.3), std=(0.25, 0.2, 0.3))


def test_a_picture_tells_its_number():
    numbers = [0, 255, 256, 9_999, 65_535]
    assert numbers_of(batch(INPUT, [picture(number) for number in numbers])[0], INPUT).tolist() == numbers


class Sure:
    """An exit that is sure of some."""

    def __init__(self, hit: list[bool]) -> None:
        self.hit = np.array(hit)
        self.distribution = np.tile(np.float32([1, 0, 0]), (len(hit), 1))

    def look(self, features: np.ndarray) -> Sure:
        return self


async def test_looks_are_charged_where_they_leave():
    taps = {"early": np.zeros((4, 2), np.float32), "late": np.ones((4, 2), np.float32)}
    leave_s: dict[tuple[int, ...], list[float]] = {(): [11.0], (0,): [4.0, 12.0], (1,): [8.0, 13.0]}
    recorded = Recorded(taps, np.eye(4, dtype=np.float32)[:, :3], leave_s, 10.0)
    engine = RecordedEngine(card_of("net").model_copy(update={"input": INPUT}), recorded)
    items, patience = batch(INPUT, [picture(number) for number in (1, 3)])[0], Urgency(math.inf)
    (whole,) = await engine.infer("net", items, patience)
    np.testing.assert_array_equal(whole, recorded.scores[[1, 3]])
    assert engine.spent_s == 20.0
    cut = engine.add_cuts("net", ["early", "late"])
    policy = RowPolicy(ExitSet({"late": Sure([True, False])}, 3))
    found = ExitResult.of(await engine.infer(cut, items, patience, policy=policy))
    assert found.left.tolist() == [True, False]
    assert engine.spent_s == 20.0 + 8.0 + 13.0
    await engine.infer(cut, items, patience, policy=RowPolicy(policy.exits, np.zeros(2, np.bool_)))
    assert engine.spent_s == 41.0 + 2 * 13.0
    await engine.infer(cut, items, patience)
    assert engine.spent_s == pytest.approx(67.0 + 2 * 11.0)


def test_the_headline_tells_of_all_windows_and_of_later_ones():
    row = {"stream": "cam", "way": "learnt before", "looks": 4, "agreement": 0.75, "speedup": 1.25}
    first = row | {"window": 0, "answered": 0, "right": 0, "processor_ms": 40.0, "whole_ms": 40.0}
    later = row | {"window": WINDOWS, "answered": 2, "right": 1, "processor_ms": 32.0, "whole_ms": 40.0}
    found = headline([first, later])
    assert found["cam"]["learnt before"] == {
        "all": {"speedup": 1.111, "answered": 0.25, "agreement": 0.875, "of_answers": 0.5},
        "later": {"speedup": 1.25, "answered": 0.5, "agreement": 0.75, "of_answers": 0.5},
    }
    assert json.dumps(found)
    draw([first, later], Figure())
