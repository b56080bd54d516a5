"""Networks as they are run: with fewer operators that compute the same, and for pictures of the shape asked for.

Each change is compared with the network as it was (``proofs``). Where the numbers differ, a simpler network is not
used, and a network of another shape is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import cv2
import numpy as np

from serving.catalogue.cards import ImageInput, ModelCard
from serving.common.explain import first_line
from serving.common.tensors import Array, Image
from serving.errors import ModelError
from serving.graphs.surgery.sizes import Size, guessed
from serving.loading.proofs import proven
from serving.preprocess import batch
from serving.variants.artefacts import ResolvedModel

if TYPE_CHECKING:
    import onnx


log = logging.getLogger(__name__)

T = TypeVar("T")

SIMPLER = "simpler"
"""The name of the change that takes operators away."""
PROMISING = frozenset({"Slice", "SpaceToDepth", "MaxPool"})
"""Operators without which nothing can be taken away."""
COARSE = 8
"""A picture for trials is random in patches of so many pixels, and in every pixel besides."""


def rewritten(model: onnx.ModelProto, source: ResolvedModel) -> onnx.ModelProto:
    """The network as it is run, from the one that was read; ModelError where it does not take the wanted shape."""
    simple = _simpler(model, source)
    if source.shape is None:
        return simple
    return _of_shape(model, simple, source, Size(*source.shape))


def _simpler(model: onnx.ModelProto, source: ResolvedModel) -> onnx.ModelProto:
    from serving.graphs.surgery.layers import in_a_row, without_slices

    if PROMISING.isdisjoint(node.op_type for node in model.graph.node):
        return model
    changed, size = _copy(model), source.whole_card.input
    try:
        if not _tried(lambda: without_slices(changed) + in_a_row(changed)):
            return model
        proven(source.directory, source.variant, SIMPLER, partial(_difference, model, changed, size))
    except ModelError as error:
        log.info("%s is run with all its operators: %s", source.name, error)
        return model
    return changed


def _difference(model: onnx.ModelProto, changed: onnx.ModelProto, size: ImageInput) -> float:
    items, _ = batch(size, [_picture(Size(size.width, size.height))])
    pairs = zip(_outputs(model, items), _outputs(changed, items), strict=True)
    return max(_apart(one, other) for one, other in pairs)


def _of_shape(model: onnx.ModelProto, simple: onnx.ModelProto, source: ResolvedModel, shape: Size) -> onnx.ModelProto:
    from serving.graphs.surgery.reshape import reshaped

    card = source.whole_card
    made = _copy(simple)
    _tried(lambda: reshaped(made, shape.height, shape.width))
    name = f"{shape.width}x{shape.height}"
    proven(source.directory, source.variant, name, partial(_difference_of_shapes, _copy(model), made, card, shape))
    return made


def _difference_of_shapes(original: onnx.ModelProto, made: onnx.ModelProto, card: ModelCard, shape: Size) -> float:
    """By how much both differ on what both see, each of them as if there were nothing else."""
    from serving.graphs.surgery.covered import covered
    from serving.graphs.surgery.reshape import specs_of

    mine = Size(card.input.width, card.input.height)
    part = Size(min(mine.width, shape.width), min(mine.height, shape.height))
    whole, other = specs_of(original), specs_of(made)
    said = []
    for network, size, (own, theirs) in ((original, mine, (whole, other)), (_copy(made), shape, (other, whole))):
        covered(network, own, theirs)
        said.append(_outputs(network, _in_the_corner(card.input, _picture(part), size)))
    strides = getattr(card.decoding, "strides", None)
    return max(_least_apart(one, two, (mine, shape), part, strides) for one, two in zip(*said, strict=True))


def _least_apart(one: Array, two: Array, sizes: tuple[Size, Size], part: Size, strides: Sequence[int] | None) -> float:
    """The difference of what both say of the same places, in the order of places that fits best."""
    if one.ndim != two.ndim or one.shape == two.shape:
        raise ModelError(f"what it says ({_text(one)}) does not follow the size of the picture")
    ways = [list(_places(pair, sizes, part, strides)) for pair in zip(one.shape, two.shape, strict=True)]
    found = (_apart(one[np.ix_(*first)], two[np.ix_(*second)]) for first, second in map(_turned, product(*ways)))
    least = min(found, default=None)
    if least is None:
        raise ModelError(f"nothing says which places of a picture {_text(one)} and {_text(two)} stand for")
    return least


def _turned(way: Sequence[tuple[Array, Array]]) -> tuple[list[Array], list[Array]]:
    return [first for first, _ in way], [second for _, second in way]


def _places(
    lengths: tuple[int, int], sizes: tuple[Size, Size], part: Size, strides: Sequence[int] | None
) -> Iterator[tuple[Array, Array]]:
    """The ways in which an axis may stand for places of the picture: what belongs to the common part, in both."""
    if lengths[0] == lengths[1]:
        yield np.arange(lengths[0]), np.arange(lengths[1])
        return
    for old, new, common in zip(*sizes, part, strict=True):
        stride = old // lengths[0] if lengths[0] else 0
        if stride and (old // stride, new // stride) == lengths:
            yield np.arange(common // stride), np.arange(common // stride)
    for grids in guessed(lengths, sizes, strides):
        yield grids.within(sizes[0], part), grids.within(sizes[1], part)


def _apart(one: Array, other: Array) -> float:
    """The largest difference, as a share of the largest number where that exceeds 1."""
    if one.shape != other.shape or not one.size:
        raise ModelError(f"it says {_text(other)} in place of {_text(one)}")
    numbers, others = one.astype(np.float64), other.astype(np.float64)
    if not (np.isfinite(numbers).all() and np.isfinite(others).all()):
        raise ModelError("it says numbers that are not finite")
    return float(np.abs(numbers - others).max() / max(1.0, np.abs(numbers).max()))


def _outputs(model: onnx.ModelProto, items: Array) -> list[Array]:
    from serving.engines.onnxruntime import OnnxRuntimeEngine

    with closing(OnnxRuntimeEngine("changed", threads=1)) as engine:
        engine.load([model.SerializeToString()])
        return engine.run(0, items)


def _picture(size: Size) -> Image:
    """A picture of which no two places are alike; the same at every call."""
    chance = np.random.default_rng(0)
    coarse = chance.integers(0, 256, (-(-size.height // COARSE), -(-size.width // COARSE), 3), np.uint8)
    fine = chance.integers(0, 256, (size.height, size.width, 3), np.uint8)
    return np.asarray(
        cv2.addWeighted(cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR), 0.75, fine, 0.25, 0.0), np.uint8
    )


def _in_the_corner(size: ImageInput, picture: Image, whole: Size) -> Array:
    """The picture as a network's input, in the upper left corner of zeros."""
    height, width = picture.shape[:2]
    plain = size.model_copy(update={"width": width, "height": height, "resize": "stretch", "detail": None})
    (item,), _ = batch(plain, [picture])
    shape = (3, whole.height, whole.width) if size.layout == "nchw" else (whole.height, whole.width, 3)
    items = np.zeros((1, *shape), item.dtype)
    first, second, third = map(slice, item.shape)
    items[0, first, second, third] = item
    return items


def _tried(change: Callable[[], T]) -> T:
    """A change's result; ModelError where it fails."""
    try:
        return change()
    except ModelError:
        raise
    except Exception as error:  # a graph may be wrong in any way
        raise ModelError(f"its graph cannot be changed: {first_line(error)}") from error


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = type(model)()
    copy.CopyFrom(model)
    return copy


def _text(array: Array) -> str:
    return " × ".join(map(str, array.shape)) or "a number"
