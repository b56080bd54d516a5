"""The benchmark of variants in a cache: memory and energy are never overdrawn; the least recently used gives way."""

from __future__ import annotations

from random import Random

import pytest
from matplotlib.figure import Figure

from benchmarks import variant_cache
from benchmarks.variant_cache import BEST, CACHE_MB, ORIGINAL, WAYS, Device, Sized, catalogues, dynamic, fixed

LARGE = Sized(0, 250.0, 0.69, 1.0)


def test_what_was_used_least_recently_gives_way_and_loading_is_paid():
    device = Device(100.0)
    for task in (1, 2):
        assert device.load(task, LARGE, 0.0)
        assert device.run(task, LARGE)
    assert device.run(1, LARGE)
    assert device.load(3, LARGE, 1.0)
    assert list(device.there) == [1, 3]
    assert device.spent_j == 3 * LARGE.load_j + 3 * LARGE.run_j
    assert device.held_mb <= CACHE_MB


def test_nothing_is_served_once_the_energy_is_spent():
    known, asked = [[LARGE]], [0] * 10
    device = fixed(ORIGINAL, known, asked, LARGE.load_j + 4 * LARGE.run_j)
    assert (device.served, device.left_j, device.missed_mb) == (4, 0.0, 250.0)


@pytest.mark.parametrize("tasks", [1, 24])
def test_memory_and_energy_hold_whatever_is_asked(tasks: int, monkeypatch: pytest.MonkeyPatch):
    rng = Random(tasks)
    known, asked = catalogues(tasks, rng), rng.choices(range(tasks), k=400)
    loaded = Device.load

    def load(device: Device, task: int, variant: Sized, now_s: float) -> bool:
        done = loaded(device, task, variant, now_s)
        assert device.held_mb <= CACHE_MB
        return done

    monkeypatch.setattr(Device, "load", load)
    for decide in WAYS.values():
        device = decide(known, asked, 100.0)
        assert device.spent_j <= 100.0
        assert device.left_j == pytest.approx(100.0 - device.spent_j)


def test_variants_serve_more_than_one_size_where_memory_is_short():
    rng = Random(1)
    known = catalogues(32, rng)
    asked = rng.choices(range(32), k=1500)
    energy_j = 0.5 * sum(known[task][ORIGINAL].run_j for task in asked)
    mine = dynamic(known, asked, energy_j)
    assert mine.served > 2 * fixed(BEST, known, asked, energy_j).served
    assert 0.5 < mine.accuracy / mine.served < 0.65


def test_its_rows_are_drawn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(variant_cache, "TRACES", range(1))
    outcome = variant_cache.measure(quick=True)
    assert {row["way"] for row in outcome.rows} == set(WAYS) == set(outcome.headline)
    outcome.draw(Figure())
