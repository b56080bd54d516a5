"""Pictures that are alike, and a build of caches from them that takes a second."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from cache_adapt.caches import explore, training
from pipelines.measure import cache_ways, tapped_pictures


def write_pictures(directory: Path) -> Path:
    """Coloured noise: the network says of each the same as of its like."""
    rng = np.random.default_rng(0)
    for number in range(120):
        picture = rng.integers(0, 60, (40, 40, 3)).astype(np.uint8)
        picture[..., number % 3] += 150
        cv2.imwrite(str(directory / f"{number}.png"), picture)
    return directory


def build_quickly(monkeypatch: pytest.MonkeyPatch, steps: int = 20) -> None:
    """One form of cache, trained for a moment, in so many steps at least."""
    monkeypatch.setattr(tapped_pictures, "BUDGET_S", 0.05)
    monkeypatch.setattr(explore.BuildGoal, "__init__", _few(explore.BuildGoal.__init__))
    monkeypatch.setattr(cache_ways, "CALIBRATION", 8)
    monkeypatch.setattr(training, "LEAST_STEPS", steps)
    monkeypatch.setattr(training, "SELECTOR_EPOCHS", 2)


def slow(monkeypatch: pytest.MonkeyPatch, int8: float) -> None:
    """A network in which caches pay, since these pictures are alike; in int8 it takes such a share of its time."""
    monkeypatch.setattr(tapped_pictures, "cut_costs", lambda *_: (0.1, 1e-5))
    monkeypatch.setattr(tapped_pictures, "segment_times", lambda name, pieces, *_: [1.0] * len(pieces))
    monkeypatch.setattr(cache_ways, "item_s", lambda runs: {"full": 1.0, "quick": int8})


def silent(what: str, share: float) -> None:
    """Progress that nobody hears of."""


def _few(init):
    def made(self, *args, **more):
        init(self, *args, **{"architectures": ("Pool(128)",), **more})

    return made
