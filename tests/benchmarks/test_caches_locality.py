"""The benchmark of caches on changing streams: what is drawn, how a window is counted, what the headline sums up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.caches_locality import headline
from benchmarks.caches_locality_parts.images import Images
from benchmarks.caches_locality_parts.published import Published
from benchmarks.caches_locality_parts.streams import CLASSES, PHASES, SIDES, WINDOWS, Pool, side_of, streams
from benchmarks.caches_locality_parts.ways import ADAPTED, ALONE, STATIC, Trainer, follow, window_row
from operators.recognise.cached.building import CutPlace
from tests.operators.recognise.cached.paints import GRID, built


def test_classes_change_at_once_or_step_by_step():
    for stream in streams(np.random.default_rng(0)):
        shares = np.array([stream.shares(window) for window in range(PHASES * WINDOWS)])
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        changes = (np.abs(np.diff(shares, axis=0)).sum(axis=1) > 1e-9).nonzero()[0].tolist()
        abrupt = [phase * WINDOWS - 1 for phase in range(1, PHASES)]
        assert changes == (list(range((PHASES - 1) * WINDOWS)) if stream.gradual else abrupt)


def test_no_image_is_of_two_sides():
    labels = np.repeat(np.arange(CLASSES), 20)
    sides = [set(np.concatenate(side_of(labels, side)).tolist()) for side in SIDES]
    assert [len(side) for side in sides] == [50, 40, 110]
    assert len(set.union(*sides)) == 200


def test_an_image_comes_again_only_when_all_others_of_its_class_have_come():
    labels = np.zeros(40, int)
    drawn = Pool(labels, "samples", np.random.default_rng(0)).draw(np.eye(CLASSES)[0], 22)
    assert len(set(drawn)) == 22


@pytest.fixture
def images() -> Images:
    """Four looks: two that the first cache answers, one of these wrongly, and two that go through."""
    sums = np.float32([[900, 0, 0], [0, 900, 0], [10, 0, 0], [0, 0, 10]])
    plan = [CutPlace("early", GRID, 0.3), CutPlace("late", GRID, 0.7)]
    answers = np.array([0, 2, 0, 2])
    costs = {(0,): (0.004, 0.011), (0, 1): (0.004, 0.008, 0.012)}
    return Images(plan, [sums, sums], answers, answers, costs, 0.010)


def test_a_window_counts_answers_and_what_each_look_costs(images: Images, tmp_path: Path):
    trainer = Trainer(ALONE, images, tmp_path)
    without = window_row("cam", 4, ADAPTED, trainer, images, range(4), Published(0.97, np.random.default_rng(0)))
    assert (without["answered"], without["agreement"], without["speedup"]) == (0, 1.0, 1.0)
    assert (without["low"], without["truth"]) == ("", "")
    trainer.data, trainer.version = built().to_bytes(), 1
    row = window_row("cam", 4, STATIC, trainer, images, range(4), Published(0.97, np.random.default_rng(0)))
    assert (row["looks"], row["answered"], row["right"]) == (4, 2, 1)
    assert (row["agreement"], row["truth"]) == (0.75, 0.5)
    assert row["processor_ms"] == pytest.approx(2 * 4 + 2 * 12)
    assert row["speedup"] == pytest.approx(40 / 32, abs=1e-3)
    found = headline([row, without, without | {"samples_per_s": 2.0, "low": 0.6, "high": 0.9, "truth": 0.5}])
    assert found["streams"]["cam"] == {
        "static": {"speedup": 1.25, "agreement": 0.75, "of_answers": 0.5, "hits": 0.5},
        "adapted": {"speedup": 1.0, "agreement": 1.0, "of_answers": 1.0, "hits": 0.0},
        "10 min, 2/s": {"speedup": 1.0, "agreement": 1.0, "of_answers": 1.0, "hits": 0.0},
    }
    assert (found["best"], found["worst"], found["agreement_least"], found["covered"]) == (1.0, 1.0, 1.0, 0.5)
    assert found["alike"] == {"cam": [["adapted", "10 min, 2/s"]]}
    assert json.dumps(found)


def test_an_interval_is_published_of_the_edition_in_use_and_of_drawn_answers():
    published = Published(0.9, np.random.default_rng(0))
    assert published.saw(1, []) is None
    first = published.saw(1, [True] * 30 + [False])
    assert first is not None
    assert first.truth == pytest.approx(30 / 31)
    assert first.low < first.truth < first.high
    other = published.saw(2, [True] * 10)
    assert other is not None
    assert other.truth == 1.0
    trusted = published.saw(2, [True] * 60 + [False] * 20)  # few of those at the end are drawn
    assert trusted is not None
    assert 0.98 < trusted.truth < 1.0
    assert published.saw(3, [False] * 60) is None, "it is off"


def test_a_stream_is_followed_from_its_second_phase_on(tmp_path: Path):
    images = Images(
        [CutPlace("early", GRID, 0.3)], [np.zeros((400, 3), np.float32)], *[np.arange(400) % 10] * 2, {}, 1.0
    )
    (stream, *_) = streams(np.random.default_rng(1))
    rows = list(follow(stream, ALONE, images, tmp_path))
    assert [row["window"] for row in rows] == list(range(WINDOWS, PHASES * WINDOWS))
    assert {row["speedup"] for row in rows} == {1.0}
