from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.scheduling.health import Observed, State, next_state, share_of_peak

STATES: tuple[State, ...] = get_args(State)
INACTIVE, ACTIVE, OVERLOADED, INTERFERED = STATES
PEAK = 100.0


@pytest.mark.parametrize(
    ("state", "items_per_s", "latency_ratio", "then"),
    [
        (INACTIVE, 0, 1.0, ACTIVE),
        (ACTIVE, 50, 1.0, ACTIVE),
        (ACTIVE, 90, 1.0, ACTIVE),
        (ACTIVE, 96, 1.0, OVERLOADED),
        (OVERLOADED, 90, 1.0, OVERLOADED),
        (OVERLOADED, 79, 1.0, ACTIVE),
        (OVERLOADED, 79, 1.6, INTERFERED),
        (ACTIVE, 50, 1.4, ACTIVE),
        (ACTIVE, 50, 1.5, INTERFERED),
        (INTERFERED, 50, 1.3, INTERFERED),
        (INTERFERED, 50, 1.1, ACTIVE),
        (INTERFERED, 96, 1.6, OVERLOADED),
        (ACTIVE, 96, 3.0, OVERLOADED),
    ],
)
def test_what_follows_from_a_measurement(state: State, items_per_s: float, latency_ratio: float, then: State) -> None:
    assert next_state(state, Observed(True, items_per_s, latency_ratio), PEAK) is then


@pytest.mark.parametrize("state", STATES)
def test_what_is_not_loaded_is_inactive(state: State) -> None:
    assert next_state(state, Observed(False), PEAK) is INACTIVE


def test_load_is_the_share_of_the_peak() -> None:
    assert share_of_peak(25.0, PEAK) == 0.25


@given(st.sampled_from(STATES), st.floats(0, 200), st.floats(0.5, 5))
def test_the_same_measurement_again_changes_nothing(state: State, items_per_s: float, latency_ratio: float) -> None:
    seen = Observed(True, items_per_s, latency_ratio)
    once = next_state(state, seen, PEAK)
    assert next_state(once, seen, PEAK) is once


@given(st.floats(0.8, 0.95), st.floats(1.2, 1.49))
def test_between_the_levels_every_state_stays(load: float, latency_ratio: float) -> None:
    assert next_state(OVERLOADED, Observed(True, load * PEAK, 1.0), PEAK) is OVERLOADED
    assert next_state(ACTIVE, Observed(True, load * PEAK, latency_ratio), PEAK) is ACTIVE
    assert next_state(INTERFERED, Observed(True, 0.0, latency_ratio), PEAK) is INTERFERED


FIGURE_4 = [
    (INACTIVE, "loaded", ACTIVE),
    (ACTIVE, "peak", OVERLOADED),
    (OVERLOADED, "calm", ACTIVE),
    (ACTIVE, "slow", INTERFERED),
    (INTERFERED, "calm", ACTIVE),
    (INTERFERED, "peak", OVERLOADED),
    (OVERLOADED, "slow", INTERFERED),
    (ACTIVE, "unloaded", INACTIVE),
    (OVERLOADED, "unloaded", INACTIVE),
    (INTERFERED, "unloaded", INACTIVE),
]
SEEN = {
    "loaded": Observed(True),
    "calm": Observed(True, 50.0),
    "peak": Observed(True, PEAK),
    "slow": Observed(True, 50.0, 2.0),
    "unloaded": Observed(False),
}


@pytest.mark.parametrize(("before", "seen", "then"), FIGURE_4)
def test_figure_4(before: State, seen: str, then: State) -> None:
    """Romero et al., 2021: loaded, at peak throughput, slower than the profile though below it, and back."""
    assert next_state(before, SEEN[seen], PEAK) is then
