"""How far two answers for one frame agree: matched objects as a share of all objects in either. Pure.

An object of which its detector is hardly sure comes and goes from frame to frame. It counts where it is matched; where
it is not, it counts as little as the difficult objects of the PASCAL VOC evaluation (Everingham et al., 2010, section
4.2): not at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from operators.detect.agreement import paired
from operators.detect.detections import overlaps
from operators.frames.frame import Region, boxes_of


def agreement(wanted: Sequence[Region], found: Sequence[Region], sure: float) -> float:
    """Return matched / (matched + unmatched objects of at least ``sure`` confidence), 0…1; no objects agree.

    Objects match one to one if they have the same label and overlap by half or more; the most confident chooses first.
    """
    pairs = matched_pairs(wanted, found)
    of_wanted, of_found = {i for i, _ in pairs}, {j for _, j in pairs}
    missed = sum(each.confidence >= sure for i, each in enumerate(wanted) if i not in of_wanted)
    added = sum(each.confidence >= sure for j, each in enumerate(found) if j not in of_found)
    return _share(len(pairs), missed + added)


def same_counts(one: Sequence[Region], other: Sequence[Region], sure: float) -> float:
    """Return the same for objects that lie anywhere: no answers with these labels can agree better."""
    of_one, of_other = _confidences(one), _confidences(other)
    matched = odd = 0
    for label in of_one.keys() | of_other.keys():
        first, second = of_one[label], of_other[label]
        common = min(len(first), len(second))
        matched += common
        odd += sum(confidence >= sure for confidence in [*first[common:], *second[common:]])
    return _share(matched, odd)


def misplaced(wanted: Sequence[Region], found: Sequence[Region], sure: float) -> float:
    """Return how much better these objects would agree if they lay where the wanted ones do, 0…1."""
    return same_counts(wanted, found, sure) - agreement(wanted, found, sure)


def _share(matched: int, odd: int) -> float:
    return matched / (matched + odd) if matched + odd else 1.0


def matched_pairs(wanted: Sequence[Region], found: Sequence[Region]) -> list[tuple[int, int]]:
    """Return the places of objects that match, in either list."""
    shares = overlaps(boxes_of(found), boxes_of(wanted))
    kinds = np.unique([one.label for one in (*found, *wanted)], return_inverse=True)[1]
    shares[kinds[: len(found), None] != kinds[len(found) :]] = 0.0
    return [(other, one) for one, other in paired(shares, [each.confidence for each in found])]


def _confidences(regions: Sequence[Region]) -> defaultdict[str, list[float]]:
    """The confidences by label, greatest first."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for region in sorted(regions, key=lambda each: -each.confidence):
        found[region.label].append(region.confidence)
    return found
