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
from operators.frames.frame import Region
from operators.wire.adaptation import Finding, Opinion
from operators.wire.bounds import corner, share, word
from operators.wire.schema import BoundingBox
from serving.catalogue.cards import ModelCard
from serving.profiling.agreement import Agree, Shares

SAME_OBJECT = 0.5
"""Least overlap (intersection over union) of two boxes of the same thing."""
UNSURE = 0.15
"""So far above the least confidence objects still come and go from frame to frame."""


def same_objects(card: ModelCard, smaller: ModelCard | None = None, sure: float = 0.0) -> Agree:
    """The measure of agreement for detectors of this card, whose outputs it decodes; raises ModelError when called.

    ``smaller``: the card of the other detector, where that takes smaller pictures. ``sure``: see ``shared``.
    """
    other = smaller or card
    scale = np.tile([card.input.width / other.input.width, card.input.height / other.input.height], 2)

    def agree(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> Shares:
        pairs = zip(decode(card, reference), decode(other, found), strict=True)
        one = partial(one_per_place, classes=card.classes)
        return np.array([shared(one(wanted), one(_scaled(got, scale)), sure) for wanted, got in pairs], np.float64)

    return agree


def _scaled(found: Detections, scale: NDArray[np.float64]) -> Detections:
    return Detections((found.boxes * scale).astype(np.float32), found.scores, found.classes)


def shared(wanted: Detections, found: Detections, sure: float = 0.0) -> float:
    """Return matched objects as a share of all objects of both, 0 … 1; NaN where there is nothing to compare.

    Boxes are matched one to one: the highest score first takes the one it overlaps most. An object with a lower score
    than ``sure`` counts only where it is matched.
    """
    if not len(wanted) and not len(found):
        return nan
    shares = np.where(found.classes[:, None] == wanted.classes, overlaps(found.boxes, wanted.boxes), 0.0)
    pairs = paired(shares, found.scores)
    rest_wanted, rest_found = wanted.scores >= sure, found.scores >= sure
    for one, other in pairs:
        rest_found[one] = rest_wanted[other] = False
    counted = len(pairs) + int(rest_wanted.sum()) + int(rest_found.sum())
    return len(pairs) / counted if counted else nan


def paired(shares: NDArray[np.float64], scores: Sequence[float] | NDArray[Any]) -> list[tuple[int, int]]:
    """Rows × columns of overlaps, and a score for each row → the row and column of each pair of the same thing.

    The highest score first takes the one that it overlaps most; ``shares`` of those that are taken become 0.
    """
    pairs = []
    for row in np.argsort(-np.asarray(scores), kind="stable").tolist() if shares.size else []:
        best = int(shares[row].argmax())
        if shares[row, best] >= SAME_OBJECT:
            shares[:, best] = 0.0
            pairs.append((row, best))
    return pairs


def opinion(model: str, regions: Sequence[Region]) -> Opinion:
    """Everything that the model has found on a frame."""
    return Opinion(models=[model], found=[_finding(each) for each in regions])


def _finding(region: Region) -> Finding:
    sides = {side: corner(getattr(region.box, side)) for side in ("x_min", "y_min", "x_max", "y_max")}
    box = BoundingBox(**sides)
    return Finding(label=word(region.label), confidence=share(region.confidence), bounding_box=box)
