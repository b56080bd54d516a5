"""What is said of runs with and without specialization."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.never_dearer import headline


def rows(video: str, ratios: list[float]) -> list[dict[str, object]]:
    return [{"video": video, "cpu_s": 10.0, "cpu_s_specialised": 10 * ratio} for ratio in ratios]


def test_it_is_the_median_of_pairs_and_one_bad_pair_does_not_matter() -> None:
    found = headline([*rows("a", [1.0] * 9 + [3.0]), *rows("b", [1.1] * 10)])
    assert found["a"] == {"ratio": 1.0, "low": 1.0, "high": 1.0}
    assert found["b"] == {"ratio": 1.1, "low": 1.1, "high": 1.1}
    assert found["all"]["ratio"] == pytest.approx(1.1)


def test_the_interval_is_wide_where_pairs_scatter_and_narrow_where_there_are_many() -> None:
    scatter = np.random.default_rng(1).normal(1.01, 0.05, 400)
    few, many = (headline(rows("a", scatter[:count].tolist()))["a"] for count in (10, 400))
    assert many["low"] <= 1.01 <= many["high"]
    assert many["high"] - many["low"] < 0.5 * (few["high"] - few["low"])
