"""Detectors on smaller inputs: which sizes there are, and that a real network takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from operators.detect.agreement import same_objects
from operators.detect.decoding import decode
from operators.testing import card_of
from serving.backend import Backend
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import ModelError
from serving.preprocess import batch
from serving.scheduling.requests import BACKGROUND
from serving.variants.artefacts import build, resolve
from serving.variants.variant import Variant, cells, parse, sized, sizes_of
from tests.models import save_graph, yolox_nano

SMALL = Variant("yolox-nano", "onnxruntime", "fp32", size=384)


def detector(**size: int) -> ModelCard:
    decoding = {"kind": "yolox", "strides": [8, 16, 32]}
    return card_of("d", task="detect", decoding=decoding, input={"width": 640, "height": 384, **size})


def test_sizes_are_multiples_of_the_largest_stride_and_keep_the_shape_as_far_as_that_allows() -> None:
    assert sizes_of(detector()) == (480, 384)
    card = sized(detector(), parse("d@onnxruntime-fp32-size480"))
    assert (card.input.width, card.input.height) == (480, 288)
    assert cells(card) == 60 * 36 + 30 * 18 + 15 * 9
    assert sized(detector(), parse("d")) == detector()
    assert sizes_of(detector(width=32, height=32)) == ()


@pytest.mark.parametrize("size", [100, 672])
def test_other_sizes_are_refused(size: int) -> None:
    with pytest.raises(ModelError, match="must be a multiple of 32 and at most 640"):
        sized(detector(), Variant("d", "onnxruntime", "fp32", size=size))


@pytest.mark.parametrize("change", [{}, {"task": "detect", "decoding": {"kind": "ssd"}}])
def test_other_models_have_one_size(change: dict[str, Any]) -> None:
    card = card_of("m", **change)
    assert sizes_of(card) == ()
    with pytest.raises(ModelError, match="only detectors with 'decoding' of kind yolox"):
        sized(card, Variant("m", "onnxruntime", "fp32", size=384))


def test_a_network_that_is_bound_to_its_size_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    flat = onnx.helper.make_node("Reshape", ["images", "shape"], ["rows"])
    constants = {"shape": np.array([1, 3 * 64 * 64 // 8, 8])}
    save_graph(folder / "net.onnx", [flat], {"rows": [1, 1536, 8]}, [1, 3, 64, 64], constants)
    card = detector(width=64, height=64).model_copy(update={"sha256": _sha256(folder / "net.onnx")})
    with pytest.raises(ModelError, match="bound to the size that it was exported with"):
        build(Entry(card, folder), Variant("d", "onnxruntime", "fp32", size=32), tmp_path)


def _sha256(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_a_real_detector_on_smaller_pictures_finds_the_same_things_in_the_same_places(
    tmp_path: Path, data_dir: Path
) -> None:
    import cv2

    known = yolox_nano(tmp_path / "models", data_dir)
    entry, cache = known.find("yolox-nano"), tmp_path / "cache"
    build(entry, SMALL, cache)
    found = resolve(SMALL.id, known, cache)
    assert found.card.input.item_shape == (3, 384, 384)
    video = cv2.VideoCapture(str(data_dir / "videos" / "street-level.mp4"))
    agree, shares = same_objects(entry.card, found.card), []
    for place in range(100, 800, 200):
        video.set(cv2.CAP_PROP_POS_FRAMES, place)
        outputs = await _both(known, cache, video.read()[1])
        assert [len(each[0][0]) for each in outputs] == [3549, 3024]
        shares += agree(*outputs).tolist()
        if len(decode(entry.card, outputs[0])[0]):
            assert agree(outputs[0], [np.zeros_like(outputs[1][0])]) == [0]
    assert np.nanmean(shares) >= 0.5


async def _both(known: Catalogue, cache: Path, picture: Any) -> list[Any]:
    backend = Backend(known, artefacts_dir=cache)
    await backend.start()
    try:
        return [
            await backend.infer(model, batch(backend.card(model).input, [picture])[0], BACKGROUND)
            for model in ("yolox-nano", SMALL.id)
        ]
    finally:
        await backend.stop()
