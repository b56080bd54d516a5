"""Exits that follow a stream: what they may cost, what they keep, and what stays."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.caches_parts.certified import effect
from benchmarks.ramps_parts.fixed import branchynet, same
from benchmarks.ramps_parts.followed import evenly, follow
from benchmarks.ramps_parts.places import Places
from benchmarks.ramps_parts.recorded import latencies
from benchmarks.tuning import simulated
from cache_adapt.exits.record import Record

PLACES = Places([0.2, 0.4, 0.6, 0.8], 1.0, [0.03] * 4)


def stream(errors: float, right: float, inputs: int = 640) -> Record:
    """All exits are as sure, and as often right."""
    rng = np.random.default_rng(0)
    shape = (4, inputs)
    return Record.of(np.full(shape, errors), rng.random(shape) < right, latencies(PLACES, range(4)))


def test_an_input_pays_for_the_exits_that_it_passes_and_no_others() -> None:
    assert latencies(PLACES, [1, 3]) == pytest.approx([0.43, 0.86, 1.06])
    assert latencies(PLACES, []) == [1.0]


@pytest.mark.parametrize(("budget", "places"), [(0.02, ()), (0.03, (2,)), (0.06, (1, 3)), (0.12, (0, 1, 2, 3))])
def test_exits_begin_at_equal_distances_within_the_budget(budget: float, places: tuple[int, ...]) -> None:
    assert evenly(PLACES, budget) == places


def test_exits_that_are_always_right_answer_once_thresholds_are_tuned() -> None:
    found = follow(stream(0.05, 1.0), PLACES, 0.99, 1.0, adjusting=True)
    assert found.right.all()
    assert found.latency[:128] == pytest.approx(1.12)  # nothing is known of them yet
    assert found.latency[-1] <= 0.43


def test_exits_that_are_never_sure_are_given_up() -> None:
    found = follow(stream(1.0, 0.5), PLACES, 0.99, 1.0, adjusting=True)
    stays = follow(stream(1.0, 0.5), PLACES, 0.99, 1.0, adjusting=False)
    assert found.right.all()
    assert min(found.active) == 0
    assert stays.latency == pytest.approx(1.12)
    assert found.latency.sum() < stays.latency.sum()


def test_without_room_for_an_exit_nothing_changes() -> None:
    found = follow(stream(0.05, 1.0), PLACES, 0.99, 0.0, adjusting=True)
    assert (found.latency == 1.0).all()
    assert found.right.all()
    assert not found.tune_s


def test_thresholds_that_were_tuned_on_the_stream_itself_keep_the_agreement_and_save_most() -> None:
    record = simulated(3, 4, 2000)
    found = {way: effect(record, thresholds) for way, thresholds in branchynet(record, 0.99).items()}
    assert found["BranchyNet-opt"].agreement >= 0.99
    assert found["BranchyNet-opt"].saved >= effect(record, same(record, 0.99)).saved > 0
