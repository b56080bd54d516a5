"""What is said of runs with and without specialization."""

from __future__ import annotations

import pytest

from benchmarks.never_dearer import OFF, ON, headline


def test_the_ratio_is_that_of_the_means_and_knows_how_far_runs_scatter() -> None:
    runs = {("a", OFF): [9.0, 11.0], ("a", ON): [10.0, 12.0], ("b", OFF): [10.0, 10.0], ("b", ON): [10.0, 10.0]}
    rows = [{"video": video, "mode": mode, "cpu_s": cpu_s} for (video, mode), all_ in runs.items() for cpu_s in all_]
    found = headline(rows)
    assert found["a"] == {"ratio": 1.1, "ratio_error": pytest.approx(1.1 * (0.1**2 + (1 / 11) ** 2) ** 0.5, abs=1e-3)}
    assert found["b"] == {"ratio": 1.0, "ratio_error": 0.0}
    assert found["all"]["ratio"] == pytest.approx(1.1**0.5, abs=1e-3)
