"""Processor time of one item."""

from __future__ import annotations

import pytest

from serving.scheduling.estimates import ROUNDS, SELDOM, ProcessorMeter


def test_nothing_is_known_before_the_first_batch() -> None:
    meter = ProcessorMeter()
    assert meter.item_s is None
    meter.ran(0, 0.1)
    assert meter.item_s is None


def test_what_runs_beside_a_batch_only_adds_so_the_least_counts() -> None:
    meter = ProcessorMeter()
    for items, processor_s in ((2, 0.05), (1, 0.02), (4, 0.2)):
        meter.ran(items, processor_s)
    assert meter.item_s == pytest.approx(0.02)


def test_old_figures_leave() -> None:
    meter = ProcessorMeter(rounds=3)
    meter.ran(1, 0.01)
    for _ in range(3):
        meter.ran(1, 0.04)
    assert meter.item_s == pytest.approx(0.04)


def test_all_of_the_first_batches_are_timed_and_one_in_four_of_the_rest() -> None:
    meter = ProcessorMeter()
    due = [meter.is_due() for _ in range(ROUNDS + 4 * SELDOM)]
    assert all(due[:ROUNDS])
    assert sum(due[ROUNDS:]) == 4
