"""Samples of one's own: which are taken, when, and how many."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from learning.store import FeatureStore
from operators.recognise.specialised import own_samples
from operators.recognise.specialised.own_samples import OwnSamples
from operators.wire.schema import FrameId
from serving.errors import ModelError, SluiceError
from tests.turns import turns

CROP = np.zeros((4, 4, 3), np.uint8)
FRAME = FrameId("cam", "run-1", 0)


async def brightness(crop: np.ndarray) -> np.ndarray:
    return np.array([crop.mean(), 1.0], np.float32)


async def taken(samples: OwnSamples, labels: list[int]) -> None:
    """One frame after the other shows these, each complete before the next."""
    for label in labels:
        samples.offer(FRAME, [CROP + label], [label])
        samples.published(FRAME)
        for _ in range(4):
            await asyncio.sleep(0)


async def test_features_and_labels_are_kept_together(tmp_path: Path) -> None:
    samples = OwnSamples(tmp_path, brightness)
    await taken(samples, [3, 5, 3])
    store = FeatureStore.open(tmp_path)
    assert store.labels.tolist() == [3, 5, 3]
    assert store.features.tolist() == [[3, 1], [5, 1], [3, 1]]
    assert samples.taken == 3


async def test_nothing_is_taken_before_the_frame_is_complete(tmp_path: Path) -> None:
    samples = OwnSamples(tmp_path, brightness)
    samples.offer(FRAME, [CROP, CROP], [1, 2])
    await turns()
    assert samples.taken == 0
    with pytest.raises(ModelError):
        FeatureStore.open(tmp_path)


async def test_what_is_kept_is_a_copy_of_the_crop(tmp_path: Path) -> None:
    samples, crop = OwnSamples(tmp_path, brightness), CROP + 7
    samples.offer(FRAME, [crop], [1])
    crop[:] = 0
    samples.published(FRAME)
    await turns()
    assert FeatureStore.open(tmp_path).features[0, 0] == 7


async def test_of_a_class_with_plenty_only_some_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_samples, "ENOUGH", 20)
    samples = OwnSamples(tmp_path, brightness)
    await taken(samples, [1] * 50 + [2] * 5)
    assert np.bincount(FeatureStore.open(tmp_path).labels).tolist() == [0, 23, 5]


async def test_a_profile_is_due_whenever_there_are_twice_as_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = OwnSamples(tmp_path, brightness)
    due = []
    for number in range(1, 700):
        await taken(samples, [number % 8])
        if samples.profile_is_due():
            due.append(number)
    assert due == [150, 300, 600]


async def test_a_feature_network_that_fails_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(crop: np.ndarray) -> np.ndarray:
        raise SluiceError("out of memory")

    samples = OwnSamples(tmp_path, broken)
    await taken(samples, [1, 2, 3])
    assert [record.message for record in caplog.records] == ["no samples are taken: out of memory"]
    assert samples.taken == 0


async def test_closing_keeps_what_was_taken(tmp_path: Path) -> None:
    samples = OwnSamples(tmp_path, brightness)
    await taken(samples, [1, 2])
    samples.offer(FRAME, [CROP], [3])
    await samples.close()
    assert FeatureStore.open(tmp_path).labels.tolist() == [1, 2]
