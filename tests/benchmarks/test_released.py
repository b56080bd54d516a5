"""Early answers measured: figures of looks, ratios, and what thresholds that follow are tuned on."""

from __future__ import annotations

import numpy as np

from benchmarks import followed, released
from benchmarks.followed import EVERY
from benchmarks.released import UNCOUNTED, Look, Turn
from tests.cache_adapt.learned.taught import SPEC, exits, samples


def turns(*looks: Look) -> list[Turn]:
    return [Turn([looks[0]], 9.0)] * UNCOUNTED + [Turn([look], 0.012) for look in looks]


def test_figures_are_of_looks_after_the_first_turns() -> None:
    whole = released._looks(turns(*[Look(0.010, 3, False)] * 100))
    made = turns(*[Look(0.004, 3, True)] * 60, *[Look(0.011, 2, False)] * 40)
    found = released._figures(released._looks(made), whole)
    assert (found["looks"], found["answered_by_exits"], found["agreement"]) == (100, 0.6, 0.6)
    assert (found["median_ms"], found["p95_ms"], found["p99_ms"]) == (4, 11, 11)
    assert found["through_ratio"] == 1.1
    assert released._processor(made) == {"processor_ms": 12.0}


def test_the_headline_compares_ways_in_the_same_setting() -> None:
    plain = {"target": 0.97, "requests": 1, "median_ms": 10.0, "p99_ms": 20.0, "processor_ms": 10.0}
    rows = [{**plain, "way": "whole"}, {**plain, "way": "release", "median_ms": 5.0, "p99_ms": 21.0}]
    rows += [{**plain, "requests": 4, "way": "whole", "median_ms": 1.0}]
    assert released.headline(rows) == {"0.97 × 1": {"release": [0.5, 1.05, 1.0]}}


def test_only_the_second_half_is_disturbed() -> None:
    items = np.zeros((6, 3, 2, 2), np.float32)
    found = followed.disturbed(items)
    assert (found[:3] == 0).all()
    assert (found[3:] != 0).all()


def test_thresholds_are_tuned_again_and_again_where_they_follow() -> None:
    shown = followed.Shown(exits(300), SPEC, samples(300, seed=1), samples(3 * EVERY, seed=2), 0.01)
    static, follows = (followed.gone(shown, follows) for follows in (False, True))
    assert (len(static.tunings_ms), len(follows.tunings_ms)) == (1, 4)
    for went in (static, follows):
        assert went.answered.any()
        assert went.right[~went.answered].all()
