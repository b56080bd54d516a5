"""What is said of runs in which options can save nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.run_parts import side_by_side
from benchmarks.run_parts.side_by_side import Scene, headline


def rows(mode: str, ratios: list[float], frames: int = 100) -> list[dict[str, object]]:
    where = {"scene": "yard", "frames": frames}
    return [
        row
        for number, ratio in enumerate(ratios)
        for row in (
            {**where, "round": number, "mode": "base", "cpu_s": 10.0, "base_cpu_s": None},
            {**where, "round": number, "mode": mode, "cpu_s": 10 * ratio, "base_cpu_s": 10.0},
        )
    ]


def test_it_is_the_median_of_rounds_and_one_bad_round_does_not_matter() -> None:
    found = headline([*rows("a", [1.0] * 9 + [3.0]), *rows("b", [1.1] * 10), *rows("a", [1.2] * 3, frames=300)])
    assert found == {
        "yard, 100 frames: a": {"ratio": 1.0, "low": 1.0, "high": 1.0},
        "yard, 100 frames: b": {"ratio": 1.1, "low": 1.1, "high": 1.1},
        "yard, 300 frames: a": {"ratio": 1.2, "low": 1.2, "high": 1.2},
    }


def test_the_interval_is_wide_where_rounds_scatter_and_narrow_where_there_are_many() -> None:
    scatter = np.random.default_rng(1).normal(1.01, 0.05, 400)
    few, many = (headline(rows("a", scatter[:count].tolist()))["yard, 100 frames: a"] for count in (10, 400))
    assert many["low"] <= 1.01 <= many["high"]
    assert many["high"] - many["low"] < 0.5 * (few["high"] - few["low"])


def test_no_mode_finds_what_another_or_the_user_has_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches: dict[str, list[str]] = {}

    def told(command: list[str], env: Mapping[str, str], **_: Any) -> None:
        assert env == {**os.environ, "SLUICE_CACHE": env["SLUICE_CACHE"]}
        caches.setdefault(Path(command[4]).stem, []).append(env["SLUICE_CACHE"])

    monkeypatch.setenv("SLUICE_CACHE", "theirs")
    monkeypatch.setattr(subprocess, "Popen", told)
    monkeypatch.setattr(side_by_side, "_cpu_s", lambda process: 1.0)
    scene = Scene("yard", Path("yard.mp4"), 1, ["base", "other"])
    side_by_side.compared([scene], lambda video, mode: {}, tmp_path, 2)
    assert {mode: len(set(found)) for mode, found in caches.items()} == {"base": 1, "other": 1}
    assert len({"theirs", *caches["base"], *caches["other"]}) == 3
