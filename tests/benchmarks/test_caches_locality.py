"""The benchmark of caches on changing streams: what is drawn, how a window is counted, what the headline sums up."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.caches_locality import CLASSES, PHASES, WINDOWS, Images, _Pool, _row, headline, streams
from operators.recognise.cached.building import CutPlan
from tests.operators.recognise.cached.paints import GRID, built


def test_classes_change_at_once_or_step_by_step():
    for stream in streams(np.random.default_rng(0)):
        shares = np.array([stream.shares(window) for window in range(PHASES * WINDOWS)])
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        changes = (np.abs(np.diff(shares, axis=0)).sum(axis=1) > 1e-9).nonzero()[0].tolist()
        abrupt = [phase * WINDOWS - 1 for phase in range(1, PHASES)]
        assert changes == (list(range((PHASES - 1) * WINDOWS)) if stream.gradual else abrupt)


def test_no_image_is_trained_on_and_measured():
    labels, rng = np.repeat(np.arange(CLASSES), 8), np.random.default_rng(0)
    even = np.full(CLASSES, 1 / CLASSES)
    learnt, measured = (set(_Pool(labels, side, rng).draw(even, 400)) for side in (False, True))
    assert not learnt & measured
    assert (len(learnt), len(measured)) == (6 * CLASSES, 2 * CLASSES)


def test_an_image_comes_again_only_when_all_others_of_its_class_have_come():
    labels = np.zeros(40, int)
    drawn = _Pool(labels, False, np.random.default_rng(0)).draw(np.eye(CLASSES)[0], 30)
    assert len(set(drawn)) == 30


@pytest.fixture
def images() -> Images:
    """Four looks: two that the first cache answers, one of these wrongly, and two that go through."""
    sums = np.float32([[900, 0, 0], [0, 900, 0], [10, 0, 0], [0, 0, 10]])
    plan = [CutPlan("early", GRID, 0.3), CutPlan("late", GRID, 0.7)]
    answers = np.array([0, 2, 0, 2])
    costs = {(0,): (0.004, 0.011), (0, 1): (0.004, 0.008, 0.012)}
    return Images(plan, [sums, sums], answers, answers, costs, 0.010)


def test_a_window_counts_answers_and_what_each_look_costs(images: Images):
    row = _row("cam", 4, "static", built().to_bytes(), images, range(4))
    assert (row["looks"], row["answered"], row["right"]) == (4, 2, 1)
    assert row["agreement"] == 0.75
    assert row["processor_ms"] == pytest.approx(2 * 4 + 2 * 12)
    assert row["speedup"] == pytest.approx(40 / 32, abs=1e-3)
    without = _row("cam", 4, "static", b"", images, range(4))
    assert (without["answered"], without["agreement"], without["speedup"]) == (0, 1.0, 1.0)
    found = headline([row, without | {"way": "adapted"}])["cam"]
    assert found["static"] == {"speedup": 1.25, "agreement": 0.75, "of_answers": 0.5, "hits": 0.5}
    assert found["adapted"] == {"speedup": 1.0, "agreement": 1.0, "of_answers": 1.0, "hits": 0.0}
