"""What nodes take: tails that are exact where nothing changes, and seldom exceeded where something does."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.planning.node_times import LATEST, MOST_SLOWDOWN, ModelTimes, NodeTimes


@given(st.floats(1e-4, 10), st.integers(1, 300))
def test_what_always_takes_the_same_has_that_as_its_tail(took_s: float, count: int) -> None:
    times = NodeTimes()
    for _ in range(count):
        times.observe(took_s)
        assert times.tail == pytest.approx(took_s, rel=1e-9)


@given(st.floats(1e-4, 10), st.floats(1e-4, 10), st.integers(1, 300))
def test_a_model_that_always_takes_the_same_seldom_exceeds_that(measured_s: float, took_s: float, count: int) -> None:
    times = ModelTimes()
    for _ in range(count):
        times.observe(measured_s, took_s)
        extra_s, factor = times.tail_line
        if times.slowdown > 0.25:  # as much faster than measured as is believed
            assert extra_s + factor * measured_s == pytest.approx(took_s, rel=1e-6)


def kinds_of_load(rng: random.Random) -> Iterator[tuple[str, list[float]]]:
    def noise(share: float) -> float:
        return rng.lognormvariate(0, share)

    yield "noise", [noise(0.2) for _ in range(6000)]
    yield "spikes", [noise(0.05) * (5 if rng.random() < 0.04 else 1) for _ in range(6000)]
    yield "another process, at times", [noise(0.1) * (2 if place // 150 % 2 else 1) for place in range(6000)]
    yield "ever slower, again and again", [noise(0.05) * (1 + place % 1000 / 500) for place in range(6000)]
    wandering, walk = 0.0, list[float]()
    for _ in range(6000):
        wandering = 0.98 * wandering + rng.gauss(0, 0.05)
        walk.append(noise(0.05) * 2**wandering)
    yield "a load that wanders", walk


LOADS = dict(kinds_of_load(random.Random(1)))


@pytest.mark.parametrize("load", LOADS)
def test_one_time_in_twenty_is_longer_whatever_the_load_does(load: str) -> None:
    times, node, model, longer = LOADS[load], NodeTimes(), ModelTimes(), {"node": 0, "model": 0}
    for place, took in enumerate(times):
        took_s = 0.01 * took
        extra_s, factor = model.tail_line
        if place >= LATEST:
            longer["node"] += took_s > node.tail
            longer["model"] += took_s > extra_s + factor * 0.008
        node.observe(took_s)
        model.observe(0.008, took_s)
    assert max(longer.values()) / len(times) <= 0.055


def test_a_spike_is_forgotten() -> None:
    times = NodeTimes()
    for took_s in [0.02] * 100 + [0.4] + [0.02] * 30:
        times.observe(took_s)
    assert times.tail == pytest.approx(0.02, rel=0.05)


def test_the_first_time_opens_a_network_and_is_forgotten() -> None:
    times = NodeTimes()
    for took_s in [3.0] + [0.02] * 40:
        times.observe(took_s)
    assert times.tail == pytest.approx(0.02, rel=0.05)


def test_the_tail_is_where_one_time_in_twenty_is_longer() -> None:
    times, rng, longer = NodeTimes(), random.Random(0), 0
    for n in range(20_000):
        took_s = 0.010 * rng.lognormvariate(0.3, 0.2)
        longer += n >= 2000 and took_s > times.tail
        times.observe(took_s)
    assert longer / 18_000 == pytest.approx(0.05, abs=0.01)
    assert times.mean == pytest.approx(0.0138, rel=0.1)


def test_what_a_small_model_takes_besides_is_no_slowdown_of_a_large_one() -> None:
    times = ModelTimes()
    for _ in range(200):
        times.observe(0.002, 0.006)
    assert times.mean_s(0.040) == pytest.approx(0.044, rel=0.02)


def test_a_slowdown_is_found_where_models_or_objects_differ() -> None:
    times, rng = ModelTimes(), random.Random(0)
    for _ in range(300):
        measured_s = rng.choice([0.005, 0.010, 0.040])
        times.observe(measured_s, 0.002 + 1.5 * measured_s * rng.uniform(0.95, 1.05))
    assert times.slowdown == pytest.approx(1.5, rel=0.05)
    assert times.mean_s(0.020) == pytest.approx(0.032, rel=0.05)
    assert 1.0 < times.tail < 1.2


def test_a_machine_that_became_faster_and_spikes_are_followed_and_forgotten() -> None:
    times = ModelTimes()
    for _ in range(50):
        times.observe(0.010, 100.0)
    assert times.slowdown <= MOST_SLOWDOWN
    for _ in range(1000):
        times.observe(0.010, 0.005)
    assert times.mean_s(0.010) == pytest.approx(0.005, rel=0.02)
    assert times.mean_s(0.040) == pytest.approx(0.020, rel=0.02)
    assert times.extra_s >= 0
