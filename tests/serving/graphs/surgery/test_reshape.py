"""Networks for other sizes, compared with their originals as if there were nothing beside the common part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from serving.errors import ModelError
from serving.graphs.surgery.covered import covered
from serving.graphs.surgery.reshape import reshaped, specs_of
from serving.graphs.surgery.sizes import Grids, Size
from tests.serving.graphs.onnx_graphs import run
from tests.serving.graphs.surgery.detectors import VALUES, Sketch, detector

OWN = Size(96, 96)
GRIDS = Grids((8, 16, 32), 1)
KINDS: list[dict[str, Any]] = [{}, {"wide": "written"}, {"grids": True}, {"wide": "written", "grids": True}]


def said(size: Size, original: bool, of: Size = OWN, **kind: Any) -> Any:
    """What a detector says of the part that it has in common with the one of another size, by cell."""
    models = {OWN: detector(**kind), size: detector(**kind)}
    reshaped(models[size], size.height, size.width)
    part = Size(min(of.width, size.width), min(of.height, size.height))
    shown = np.random.default_rng(3).normal(0, 1, (3, part.height, part.width)).astype(np.float32)
    shapes = {each: specs_of(model) for each, model in models.items()}
    mine, other = (of, size) if original else (size, of)
    covered(models[mine], shapes[mine], shapes[other])
    picture = np.zeros((1, 3, mine.height, mine.width), np.float32)
    picture[0, :, : part.height, : part.width] = shown
    return run(models[mine], picture)[0][GRIDS.within(mine, part)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("size", [Size(96, 64), Size(64, 96), Size(96, 32), Size(64, 64)])
def test_a_smaller_network_says_of_each_cell_what_the_original_says(size: Size, kind: dict[str, Any]) -> None:
    smaller, original = said(size, False, **kind), said(size, True, **kind)
    assert smaller.shape == (GRIDS.cells(size), VALUES)
    np.testing.assert_allclose(smaller, original, atol=1e-5)


@pytest.mark.parametrize("size", [Size(128, 64), Size(160, 96)])
def test_a_larger_one_does_too_where_nothing_is_stored_for_each_cell(size: Size) -> None:
    np.testing.assert_allclose(said(size, False, wide="written"), said(size, True, wide="written"), atol=1e-5)
    with pytest.raises(ModelError, match="it holds numbers for 189 places of a picture, and a larger picture has"):
        reshaped(detector(grids=True), size.height, size.width)


def test_what_hears_of_the_whole_picture_says_something_else() -> None:
    assert np.abs(said(Size(96, 64), False, glance=True) - said(Size(96, 64), True, glance=True)).max() > 1e-3


def test_sizes_of_enlargements_and_ends_of_slices_follow() -> None:
    net = Sketch()
    half = net.conv("images", (3, 4), strides=[2, 2])
    larger = net.node("Resize", half, "", "", net.weight([1, 4, 96, 96]), mode="nearest")
    starts, ends, axes, steps = (net.weight(each) for each in ([0, 0], [96, 96], [2, 3], [1, 2]))
    model = net.model(net.node("Slice", larger, starts, ends, axes, steps))
    reshaped(model, 128, 64)
    assert run(model, np.zeros((1, 3, 128, 64), np.float32)).shape == (1, 4, 128, 32)


def test_the_colours_may_come_last() -> None:
    net = Sketch()
    model = net.model(net.node("Transpose", "images", perm=[0, 3, 1, 2]), (1, 96, 96, 3))
    reshaped(model, 64, 32)
    assert run(model, np.zeros((1, 64, 32, 3), np.float32)).shape == (1, 3, 64, 32)


def test_a_batch_of_any_length_stays_one() -> None:
    net = Sketch()
    model = net.model(net.conv("images", (3, 4), strides=[2, 2]), ("N", 3, 96, 96))
    reshaped(model, 64, 96)
    assert run(model, np.zeros((5, 3, 64, 96), np.float32)).shape == (5, 4, 32, 48)


def test_numbers_for_places_that_nobody_knows_are_refused() -> None:
    net = Sketch()
    flat = net.node("Reshape", "images", net.weight([1, 96 * 96 * 3]))
    odd = net.model(net.node("Add", flat, net.weight(np.ones((1, 96 * 96 * 3), np.float32))))
    with pytest.raises(ModelError, match="nothing says which of them"):
        reshaped(odd, 64, 96)
