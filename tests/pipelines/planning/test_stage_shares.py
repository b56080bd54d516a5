"""Shares of the time by the split that needs the fewest workers, with the α that was measured."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.split_parts.given import split_as
from pipelines.planning.latency_split import best_split
from pipelines.planning.stage_shares import EVERY, StageShares, in_stages

FLAT = {1: 0.010, 2: 0.020, 4: 0.040}
STEEP = {1: 0.010, 8: 0.020, 32: 0.040}
MODELS = {"detect": "finder", "type": "namer"}
GROUPS = (("detect",), ("track",), ("type",))


def shares(curves: Mapping[str, Mapping[int, float]], slo_s: float = 0.1) -> StageShares:
    return StageShares(GROUPS, MODELS, slo_s, curves.get)


def seen(found: StageShares, objects: int, frames: int = 1) -> StageShares:
    for _ in range(frames):
        found.observe({"detect": 1, "type": objects})
    return found


def test_what_is_asked_most_gets_more() -> None:
    curves = {"finder": STEEP, "namer": STEEP}
    few, many = seen(shares(curves), 0), seen(shares(curves), 10)
    assert few.of("detect") > 0.6
    assert many.of("detect") < 0.4
    assert few.of("type") == many.of("type") == 1.0  # nothing follows it


def test_what_gains_nothing_from_time_gets_what_it_needs() -> None:
    found = seen(shares({"finder": FLAT, "namer": STEEP}), 1)
    assert found.of("detect") == pytest.approx(0.2)
    assert seen(shares({"finder": STEEP, "namer": FLAT}), 1).of("detect") == pytest.approx(0.8)


def test_nothing_is_known_as_long_as_times_or_the_split_are_not() -> None:
    assert shares({}).of("detect") == 0.0
    assert seen(shares({"finder": FLAT}), 1).of("detect") == 0.0
    assert seen(shares({"finder": FLAT, "namer": FLAT}, slo_s=0.03), 1).of("detect") == 0.0
    alone = StageShares([["detect"]], {"detect": "finder"}, 0.1, {"finder": FLAT}.get)
    alone.observe({"detect": 1})
    assert alone.of("detect") == 0.0


def test_the_split_follows_what_frames_hold_but_not_at_every_frame() -> None:
    found = seen(shares({"finder": STEEP, "namer": STEEP}), 0)
    few = found.of("detect")
    assert seen(found, 10, EVERY - 1).of("detect") == few
    assert seen(found, 10).of("detect") < few


def test_times_that_become_known_later_count_then() -> None:
    curves = {"finder": STEEP}
    found = seen(shares(curves), 1)
    curves["namer"] = STEEP
    assert seen(found, 1, EVERY).of("detect") > 0


def test_stages_of_nodes_beside_each_other() -> None:
    groups = (("detect", "plates"), ("track",), ("type", "colour"))
    names = ("detect", "plates", "type", "colour")
    stages = in_stages(groups, dict.fromkeys(names, FLAT), {"plates": 2.0, "type": 6.0, "colour": 4.0})
    assert [(each.name, each.source, each.alpha) for each in stages] == [
        ("detect", None, 1.0),
        ("plates", "detect", 2.0),
        ("type", "plates", 3.0),
        ("colour", "plates", 2.0),
    ]


CURVES = st.dictionaries(st.integers(1, 32), st.floats(0.001, 0.05), min_size=1, max_size=4)


@given(CURVES, CURVES, st.floats(0.01, 20), st.floats(0.02, 0.4))
def test_no_share_in_proportion_to_times_needs_fewer_workers(
    x: dict[int, float], y: dict[int, float], alpha: float, slo_s: float
) -> None:
    """What is replaced: each in proportion to what a single item takes."""
    stages = in_stages(GROUPS, {"detect": x, "type": y}, {"type": alpha})
    best = best_split(stages, slo_s)
    first, second = x[min(x)], y[min(y)]
    part = first / (first + second)
    proportional = split_as(stages, {"detect": part * slo_s, "type": (1 - part) * slo_s})
    if proportional is not None:
        assert best is not None
        assert best.workers <= proportional.workers * (1 + 1e-9)
