"""The benchmark trains heads that can be trained, and names the largest window; no clock is asserted on."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.retraining import HEADS, PAPER_S, WIDE, draw, headline, row, windows
from specialization.trainer.job import train


def test_windows_are_as_long_and_as_wide_as_they_say_and_heads_of_them_are_of_use(tmp_path: Path) -> None:
    narrow, mixed, wide = windows(tmp_path, [500])
    assert [row(case, [0.2, 0.3, 0.9])["dims"] for case in (narrow, mixed, wide)] == [88, 88, WIDE]
    assert [len(job.classes) for job in narrow.jobs()] == list(HEADS)
    for case in (narrow, mixed, wide):
        assert train(case.jobs()[0]).rates.a_in > 0.5
    assert row(narrow, [0.2, 0.3, 0.9])["all_heads_processor_s"] == 0.3


def test_the_headline_has_the_largest_window_of_each_kind() -> None:
    rows = [
        {"trained_on": name, "samples": samples, "all_heads_processor_s": samples / 1000}
        for name in ("window", "window, wide")
        for samples in (500, 2000)
    ]
    assert headline(rows) == {"all_heads_processor_s": {"window": 2.0, "window, wide": 2.0}, "paper_s": PAPER_S}
    draw(Figure(), rows)
