"""Measures how far two detectors agree: objects that both find, as a share of all that either finds.

Both find an object where their boxes have the same label and overlap by half or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.detect.decoding import decode
from operators.detect.detections import Detections, one_per_place, overlaps
from serving.catalogue.cards import ModelCard
from serving.profiling.agreement import Agree, Shares

SAME_OBJECT = 0.5
"""Least overlap (intersection over union) of two boxes of the same thing."""


def same_objects(card: ModelCard, smaller: ModelCard | None = None) -> Agree:
    """The measure of agreement for detectors of this card, whose outputs it decodes; raises ModelError when called.

    ``smaller``: the card of the other detector, where that takes smaller pictures.
    """
    other = smaller or card
    scale = np.tile([card.input.width / other.input.width, card.input.height / other.input.height], 2)

    def agree(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> Shares:
        pairs = zip(decode(card, reference), decode(other, found), strict=True)
        one = partial(one_per_place, classes=card.classes)
        return np.array([shared(one(wanted), one(_scaled(got, scale))) for wanted, got in pairs], np.float64)

    return agree


def _scaled(found: Detections, scale: NDArray[np.float64]) -> Detections:
    return Detections((found.boxes * scale).astype(np.float32), found.scores, found.classes)


def shared(wanted: Detections, found: Detections) -> float:
    """Return matched objects as a share of all objects of both, 0 … 1; NaN where neither found anything.

    Boxes are matched one to one: the highest score first takes the one it overlaps most.
    """
    if not len(wanted) and not len(found):
        return nan
    shares = np.where(found.classes[:, None] == wanted.classes, overlaps(found.boxes, wanted.boxes), 0.0)
    matches = 0
    for index in np.argsort(-found.scores, kind="stable"):
        best = int(shares[index].argmax()) if len(wanted) else 0
        if len(wanted) and shares[index, best] >= SAME_OBJECT:
            shares[:, best] = 0.0
            matches += 1
    return matches / (len(wanted) + len(found) - matches)
