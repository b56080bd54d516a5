"""The changes between two results of the same frame. Pure.

Objects are the same if they have the same label and overlap by half or more, one to one, those that overlap most first
(PASCAL VOC's rule; Everingham et al., 2010, section 4.2). Of what remains, objects that overlap as much were renamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from operators.detect.detections import overlaps
from operators.wire.schema import BoundingBox, Object, Result

SAME_PLACE = 0.5
"""Least intersection over union."""
MOST_OBJECTS = 1000
"""Objects of a frame that are compared."""

Kind = Literal["lost", "new", "renamed", "answer"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was."""

    kind: Kind
    before: str
    """The earlier word: the label, or the label of an answer; empty where there was nothing."""
    after: str
    confidence: float
    """How sure those were who said it: the greater of both, 0…1."""
    box: BoundingBox
    attribute: str = ""
    """The name of the answer."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two results of a frame."""

    objects: int
    """Objects in either, those that match counted once."""
    changed: int
    """Those that are not as they were."""
    differences: Sequence[Difference]


def compare(before: Result, after: Result) -> Compared:
    """Say what has changed from one result to the other."""
    old, new = before.objects[:MOST_OBJECTS], after.objects[:MOST_OBJECTS]
    shares = _shares(old, new)
    names_differ = np.array([[one.label != other.label for other in new] for one in old], bool).reshape(shares.shape)
    same = _pairs(np.where(names_differ, 0.0, shares))
    taken_old, taken_new = {i for i, _ in same}, {j for _, j in same}
    free = shares.copy()
    free[list(taken_old), :] = 0.0
    free[:, list(taken_new)] = 0.0
    renamed = _pairs(free)
    found = [_answers(old[i], new[j]) for i, j in same]
    differences = [each for several in found for each in several]
    differences += [_renamed(old[i], new[j]) for i, j in renamed]
    gone = set(range(len(old))) - taken_old - {i for i, _ in renamed}
    come = set(range(len(new))) - taken_new - {j for _, j in renamed}
    differences += [_alone("lost", old[i]) for i in sorted(gone)] + [_alone("new", new[j]) for j in sorted(come)]
    odd = len(renamed) + len(gone) + len(come)
    return Compared(len(same) + odd, sum(map(bool, found)) + odd, differences)


def _shares(old: Sequence[Object], new: Sequence[Object]) -> NDArray[np.float64]:
    """Intersection over union, objects before × objects after."""
    if not old or not new:
        return np.zeros((len(old), len(new)))
    return np.asarray(overlaps(_corners(old), _corners(new)), np.float64)


def _corners(objects: Sequence[Object]) -> NDArray[np.float64]:
    boxes = [each.detection.bounding_box for each in objects]
    return np.array([[box.x_min, box.y_min, box.x_max, box.y_max] for box in boxes], np.float64)


def _pairs(shares: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Match one to one, the greatest share first."""
    places = np.argwhere(shares >= SAME_PLACE)
    order = np.argsort(-shares[tuple(places.T)], kind="stable")
    rows, columns, found = set[int](), set[int](), []
    for i, j in places[order].tolist():
        if i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            found.append((i, j))
    return found


def _answers(old: Object, new: Object) -> list[Difference]:
    was = {each.name: each for each in old.attributes}
    now = {each.name: each for each in new.attributes}
    found = []
    for name in sorted(was.keys() | now.keys()):
        one, other = was.get(name), now.get(name)
        labels = [each.label if each else "" for each in (one, other)]
        if labels[0] != labels[1]:
            sure = max(each.confidence for each in (one, other) if each)
            found.append(Difference("answer", labels[0], labels[1], sure, new.detection.bounding_box, name))
    return found


def _renamed(old: Object, new: Object) -> Difference:
    sure = max(old.confidence, new.confidence)
    return Difference("renamed", old.label, new.label, sure, new.detection.bounding_box)


def _alone(kind: Literal["lost", "new"], found: Object) -> Difference:
    said = ("", found.label) if kind == "new" else (found.label, "")
    return Difference(kind, *said, found.confidence, found.detection.bounding_box)
