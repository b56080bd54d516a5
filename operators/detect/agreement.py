"""Measures how far two detectors agree: F1 of boxes that overlap by half or more and have the same label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.detect.decoding import Detections, decode, one_per_place, overlaps
from serving.catalogue.cards import ModelCard
from serving.profiling.agreement import Agree, Shares

SAME_OBJECT = 0.5
"""Least overlap (intersection over union) of two boxes of the same thing."""


def same_objects(card: ModelCard) -> Agree:
    """The measure of agreement for detectors of this card, whose outputs it decodes; raises ModelError when called."""

    def agree(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> Shares:
        pairs = zip(decode(card, reference), decode(card, found), strict=True)
        one = partial(one_per_place, classes=card.classes)
        return np.array([f1(one(wanted), one(got)) for wanted, got in pairs])

    return agree


def f1(wanted: Detections, found: Detections) -> float:
    """Harmonic mean of precision and recall, 0 … 1; two images in which nothing was found agree.

    Boxes are matched one to one: the highest score first takes the one it overlaps most.
    """
    if not len(wanted) and not len(found):
        return 1.0
    shares = np.where(found.classes[:, None] == wanted.classes, overlaps(found.boxes, wanted.boxes), 0.0)
    matches = 0
    for index in np.argsort(-found.scores, kind="stable"):
        best = int(shares[index].argmax()) if len(wanted) else 0
        if len(wanted) and shares[index, best] >= SAME_OBJECT:
            shares[:, best] = 0.0
            matches += 1
    return 2 * matches / (len(wanted) + len(found))
