"""The sources of the templates that ship."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from datasets import camera_crops, vehicle6
from tools.shipped import make_templates
from tools.shipped.make_templates import LOOKS, pictures


def test_only_photos_that_nobody_learns_from_or_measures_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photos = [(np.full((60, 60, 3), number, np.uint8), "car") for number in range(9)]
    asked: list[str] = []

    def load(folder: Path, split: str) -> list[tuple[np.ndarray, str]]:  # type: ignore[type-arg]
        asked.append(split)
        return photos

    monkeypatch.setattr(vehicle6, "ensure", lambda folder: folder)
    monkeypatch.setattr(vehicle6, "load", load)
    monkeypatch.setattr(camera_crops, "read", lambda folder: [])
    monkeypatch.setattr(make_templates, "CORNERS", 6)
    monkeypatch.setattr(make_templates, "STREETS", 3)
    monkeypatch.setattr(
        make_templates, "street_crops", lambda seed, count, size: (np.full((4, 96, 96, 3), seed % 100, np.uint8), [])
    )
    shown = pictures(tmp_path, np.random.default_rng(0))
    assert asked == ["validation"]
    assert len(shown) == 9 * LOOKS + 6 + 3 * 4
    drawn = [int(image[0, 0, 0]) for image in shown if image.shape == (96, 96, 3)]
    assert sorted(drawn) == [17] * 4 + [18] * 4 + [19] * 4
    assert [drawn[place : place + 4] for place in (0, 4, 8)] == [[seed] * 4 for seed in drawn[::4]], "street by street"
    looks = [int(image[0, 0, 0]) for image in shown if 40 <= image.shape[0] <= 60]
    assert [looks[place : place + LOOKS] for place in range(0, 36, LOOKS)] == [
        [photo] * LOOKS for photo in looks[::LOOKS]
    ]
    assert looks[::LOOKS] != list(range(9))
