"""How well a tracker did: MOTA, IDF1 and id switches as py-motmetrics counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tracking_parts.recordings import BoxTuple, Moment

LEAST_OVERLAP = 0.5
"""Intersection over union from which a box is that of a true object."""
LEAST_VISIBLE, LEAST_AREA = 0.3, 0.0015
"""What shows less of itself, or is a smaller share of the frame, need not be found, nor is finding it an error."""

Ids = Sequence[int | None]
"""The track of each box of a frame."""
METRICS = {
    "num_objects": "objects",
    "num_switches": "id_switches",
    "num_fragmentations": "fragmentations",
    "num_misses": "misses",
    "num_false_positives": "false_positives",
    "mota": "mota",
    "idf1": "idf1",
}


def score(moments: Sequence[Moment], tracked: Sequence[Ids]) -> Mapping[str, Any]:
    """The metrics of one recording, by this project's names for them."""
    import motmetrics

    account = motmetrics.MOTAccumulator(auto_id=True)
    for moment, ids in zip(moments, tracked, strict=True):
        account.update(*_frame(moment, ids))
    found = motmetrics.metrics.create().compute(account, metrics=list(METRICS), return_dataframe=False)
    return {ours: found[theirs] for theirs, ours in METRICS.items()}


def _frame(moment: Moment, ids: Ids) -> tuple[list[int], list[int], NDArray[np.float64]]:
    """Numbers of the objects that count and of the tracks, and their distances; NaN where they do not match."""
    shown = [(number, one.box) for number, one in zip(ids, moment.found, strict=True) if number is not None]
    counts = [
        one.visible >= LEAST_VISIBLE and (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]) >= LEAST_AREA
        for one in moment.truth
    ]
    overlaps = overlap([one.box for one in moment.truth], [box for _, box in shown])
    overlaps[overlaps < LEAST_OVERLAP] = np.nan
    wanted, others = np.array(counts, bool), ~np.array(counts, bool)
    excused = ~np.isnan(overlaps[others]).all(axis=0) & np.isnan(overlaps[wanted]).all(axis=0)
    objects = [one.id for one, counted in zip(moment.truth, counts, strict=True) if counted]
    tracks = [number for (number, _), skip in zip(shown, excused, strict=True) if not skip]
    return objects, tracks, 1 - overlaps[wanted][:, ~excused]


def overlap(boxes: Sequence[BoxTuple], others: Sequence[BoxTuple]) -> NDArray[np.float64]:
    """Intersection over union of each with each."""
    one = np.array(boxes, float).reshape(-1, 1, 4)
    other = np.array(others, float).reshape(1, -1, 4)
    shared = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    common = np.clip(shared, 0, None).prod(axis=2)
    areas = [(boxes[..., 2:] - boxes[..., :2]).prod(axis=2) for boxes in (one, other)]
    return np.asarray(common / np.maximum(areas[0] + areas[1] - common, 1e-12))
