"""Preparing a network's input: the same batch, at once or beside the loop."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from operators import inference
from serving import preprocess
from serving.catalogue.cards import ImageInput

SIZE = ImageInput(width=32, height=24, colour="bgr")


@pytest.mark.parametrize(("count", "side", "at_once"), [(2, 40, True), (1, 400, False), (100, 40, False)])
async def test_small_batches_are_prepared_at_once(
    count: int, side: int, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def batch(*arguments: object) -> object:
        threads.append(threading.get_ident())
        return preprocess.batch(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(inference, "batch", batch)
    images = [np.full((side, side, 3), number, np.uint8) for number in range(count)]
    found, placements = await inference.prepared(SIZE, images)
    wanted, _ = preprocess.batch(SIZE, images)
    np.testing.assert_array_equal(found, wanted)
    assert len(placements) == count
    assert (threads == [threading.get_ident()]) == at_once
