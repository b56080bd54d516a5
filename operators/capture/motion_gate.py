"""Passes only frames in which something moved."""

from __future__ import annotations

import numpy as np

from serving.common.tensors import Image

_LEVELS = 20
"""Grey levels by which a pixel must change: more than the sensor's noise averaged over a thumbnail's cell."""
_SHARE = 0.001
"""Share of the thumbnail's pixels that must change: 14 cells of 160×90, a person far away."""


class MotionGate:
    """Compares each thumbnail with the last one let through, so slow movement adds up until it passes."""

    def __init__(self) -> None:
        self._reference: Image | None = None

    def passes(self, thumbnail: Image) -> bool:
        """Whether the frame of this grey thumbnail goes on; the first always does."""
        if self._reference is not None and self._reference.shape == thumbnail.shape:
            change = np.abs(self._reference.astype(np.int16) - thumbnail)
            if np.count_nonzero(change > _LEVELS) < _SHARE * change.size:
                return False
        self._reference = thumbnail
        return True
