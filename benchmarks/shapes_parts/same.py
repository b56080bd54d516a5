"""How far what two ways find is the same, and how much of it is true. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.shapes_parts.ways import corners
from operators.detect.detections import overlaps
from operators.frames.frame import Region

SAME = 0.5
SMALL = 0.01
"""Share of the frame."""
THRESHOLDS = np.arange(0.5, 1.0, 0.05)
RECALLS = np.linspace(0, 1, 101)

Found = Sequence[Sequence[Region]]
Truth = Mapping[str, Sequence[tuple[float, float, float, float]]]
"""By class, the boxes of one picture."""


def firm(one: Found, other: Found, sure: float = 0.5, faint: float = 0.3) -> float:
    """The share of sure boxes of either for which the other has a box that is faint or more."""
    known = [met for first, second in ((one, other), (other, one)) for met in _met(first, second, sure, faint)]
    return float(np.mean(known)) if known else 1.0


def count(found: Found, sure: float) -> int:
    """How many boxes are sure."""
    return sum(region.confidence >= sure for regions in found for region in regions)


def recall(found: Found, wanted: Found, largest: float = SMALL) -> float:
    """The share of wanted objects below a size that are found."""
    small = [[region for region in regions if region.box.area < largest] for regions in wanted]
    met = _met(small, found, 0.0, 0.0)
    return float(np.mean(met)) if met else float("nan")


def merged(some: Found, more: Found, sure: float) -> list[list[Region]]:
    """The objects that either is sure of, each once."""
    return [
        [region for region in first if region.confidence >= sure]
        + [
            region
            for region, met in zip(second, _each(second, first), strict=True)
            if not met and region.confidence >= sure
        ]
        for first, second in zip(some, more, strict=True)
    ]


def _met(one: Found, other: Found, sure: float, faint: float) -> list[bool]:
    met: list[bool] = []
    for first, second in zip(one, other, strict=True):
        met += _each([r for r in first if r.confidence >= sure], [r for r in second if r.confidence >= faint])
    return met


def _each(regions: Sequence[Region], others: Sequence[Region]) -> list[bool]:
    """For each region whether one of the others has its class and its place."""
    shares = overlaps(corners(regions), corners(others))
    return [
        any(share >= SAME and region.label == near.label for share, near in zip(row, others, strict=True))
        for region, row in zip(regions, shares, strict=True)
    ]


def mean_precision(found: Found, truths: Sequence[Truth]) -> tuple[float, float]:
    """COCO's mAP (overlaps of .5 to .95, 101 points of recall, all sizes) and AP50, per cent."""
    classes = sorted({label for truth in truths for label in truth})
    table = np.array([_precisions(label, found, truths) for label in classes])
    return float(100 * table.mean()), float(100 * table[:, 0].mean())


def _precisions(label: str, found: Found, truths: Sequence[Truth]) -> list[float]:
    """The average precision of a class at each overlap."""
    wanted = sum(len(truth.get(label, ())) for truth in truths)
    ranked = sorted(
        (
            (region.confidence, place, region)
            for place, regions in enumerate(found)
            for region in regions
            if region.label == label
        ),
        key=lambda each: -each[0],
    )
    return [_precision(_hits(ranked, label, truths, least), wanted) for least in THRESHOLDS]


def _hits(ranked: Sequence[tuple[float, int, Region]], label: str, truths: Sequence[Truth], least: float) -> list[bool]:
    free = [np.array(truth.get(label, ()), np.float64).reshape(-1, 4) for truth in truths]
    hits = []
    for _, place, region in ranked:
        shares = overlaps(corners([region]), free[place])[0]
        best = int(shares.argmax()) if len(shares) else 0
        hits.append(bool(len(shares) and shares[best] >= least))
        if hits[-1]:
            free[place] = np.delete(free[place], best, axis=0)
    return hits


def _precision(hits: Sequence[bool], wanted: int) -> float:
    if not hits:
        return 0.0
    right = np.cumsum(hits)
    recalls, precisions = right / wanted, right / np.arange(1, len(hits) + 1)
    best = np.maximum.accumulate(precisions[::-1])[::-1]
    places = np.searchsorted(recalls, RECALLS, side="left")
    return float(np.mean([best[place] if place < len(best) else 0.0 for place in places]))
