"""The baseline: norfair (Tryolabs, BSD-3), as Sluice used it. It counts in steps, so elapsed time becomes steps."""

from __future__ import annotations

from collections.abc import Sequence

import norfair
import numpy as np
from numpy.typing import NDArray

from operators.frames.frame import Box, Region
from operators.track.tracker import TrackSettings

STEP_S = 1 / 30


class NorfairTracker:
    """``operators.track.operator.Tracker`` by norfair."""

    def __init__(self, settings: TrackSettings) -> None:
        self._settings = settings
        self._longest_gap = max(2, round(settings.lost_after_s / STEP_S))
        self._owed_s = 0.0
        self._tracker = norfair.Tracker(
            distance_function="iou",
            distance_threshold=settings.max_distance,
            hit_counter_max=self._longest_gap,
            initialization_delay=min(round(settings.confirm_s / STEP_S), self._longest_gap - 1),
            past_detections_length=0,
        )

    def update(self, regions: Sequence[Region], elapsed_s: float) -> list[int | None]:
        """See ``Tracker``."""
        steps = self._steps(elapsed_s)
        for _ in range(steps - 1):
            self._tracker.update()
        # Labels stay out of it: a detector that wavers between car and truck must not break the track.
        detections = [norfair.Detection(_corners(region.box), data=i) for i, region in enumerate(regions)]
        numbers: list[int | None] = [None] * len(regions)
        for track in self._tracker.update(detections, period=steps):
            found = track.last_detection
            if any(found is detection for detection in detections):
                numbers[found.data] = track.id
        return numbers

    def alive(self) -> set[int]:
        """See ``Tracker``."""
        return {track.id for track in self._tracker.tracked_objects if track.id is not None}

    def _steps(self, elapsed_s: float) -> int:
        """Whole steps for the time passed, at least one; what is left over is carried to the next frame."""
        self._owed_s += elapsed_s
        steps = min(max(1, round(self._owed_s / STEP_S)), self._longest_gap + 1)
        self._owed_s = min(max(self._owed_s - steps * STEP_S, -STEP_S), STEP_S)
        return steps


def _corners(box: Box) -> NDArray[np.float64]:
    return np.array([[box.x_min, box.y_min], [box.x_max, box.y_max]])
