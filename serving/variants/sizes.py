"""Detectors on smaller inputs: a network that only convolves takes pictures of any size, and finds small things worse.

A detector with YOLOX's decoding is one: each cell of its grids sees its own surroundings, and the grids follow from the
size and the strides (Ge et al., 2021). Boxes of other detectors may be bound to the size that they were made for.
"""

from __future__ import annotations

from serving.catalogue.cards import ModelCard
from serving.catalogue.decodings import YoloxDecoding
from serving.errors import ModelError
from serving.variants.variant import Variant

SHARES = (0.77, 0.62)
"""Widths that are measured, as shares of the card's: .6 and .4 of its work."""


def sizes_of(card: ModelCard) -> tuple[int, ...]:
    """Return the smaller widths that a model is measured with, in pixels; none where it takes no other."""
    if not isinstance(card.decoding, YoloxDecoding):
        return ()
    step = max(card.decoding.strides)
    widths = (step * round(share * card.input.width / step) for share in SHARES)
    return tuple(dict.fromkeys(width for width in widths if 0 < width < card.input.width))


def sized(card: ModelCard, variant: Variant) -> ModelCard:
    """Return the card with the input that the variant takes; raises ModelError where the model cannot take it."""
    width = variant.size
    if width is None or width == card.input.width:
        return card
    if not isinstance(card.decoding, YoloxDecoding):
        raise ModelError(f"variant {variant.id!r}: only detectors with 'decoding' of kind yolox take another size")
    step = max(card.decoding.strides)
    if width % step or width > card.input.width:
        raise ModelError(
            f"variant {variant.id!r}: the size must be a multiple of {step} and at most {card.input.width}"
        )
    height = max(step, step * round(card.input.height * width / card.input.width / step))
    return card.model_copy(update={"input": card.input.model_copy(update={"width": width, "height": height})})


def cells(card: ModelCard) -> int:
    """Return the number of places at which a detector looks: what its output must have for each picture."""
    assert isinstance(card.decoding, YoloxDecoding)
    return sum((card.input.width // stride) * (card.input.height // stride) for stride in card.decoding.strides)
