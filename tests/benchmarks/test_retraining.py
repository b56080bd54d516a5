"""The benchmark trains heads that can be trained, and names the largest window; no clock is asserted on."""

from __future__ import annotations

from math import prod
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.retraining import HEADS, PAPER_S, WIDE, caches_windows, draw, headline, row, windows
from cache_adapt.caches.job import answered
from operators.recognise.cached import building
from specialization.trainer.job import train


def test_windows_are_as_long_and_as_wide_as_they_say_and_heads_of_them_are_of_use(tmp_path: Path) -> None:
    narrow, mixed, wide = windows(tmp_path, [500])
    assert [row(case, [0.2, 0.3, 0.9])["dims"] for case in (narrow, mixed, wide)] == [192, 192, WIDE]
    assert [len(job.classes) for job in narrow.jobs()] == list(HEADS)
    for case in (narrow, mixed, wide):
        assert train(case.jobs()[0]).rates.a_in > 0.5
    assert row(narrow, [0.2, 0.3, 0.9])["processor_s"] == 0.3


def test_caches_are_built_from_windows_as_wide_as_the_places_of_the_oracle(tmp_path: Path) -> None:
    (case,) = caches_windows(tmp_path, [500])
    found = row(case, [1.0, 2.0, 5.0])
    assert (found["made"], found["dims"], found["processor_s"]) == (
        3,
        sum(prod(cut.grid) for cut in case.network.cuts),
        2,
    )
    job = building.job(case.network, 0.01, case.directory, 0.8, 1)
    assert answered(job).built().card.samples == 500


def test_the_headline_sets_caches_beside_caches() -> None:
    rows = [
        {"trained_on": name, "samples": samples, "processor_s": samples / 1000}
        for name in ("window", "window, wide", "caches")
        for samples in (500, 2000)
    ]
    assert headline(rows) == {
        "heads_processor_s": {"window": 2.0, "window, wide": 2.0},
        "caches_processor_s": 2.0,
        "caches_of_the_paper_s": PAPER_S,
    }
    draw(Figure(), rows)
