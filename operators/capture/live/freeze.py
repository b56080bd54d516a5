"""A camera whose encoder hangs often sends one picture for ever; age alone does not show it."""

from __future__ import annotations

import numpy as np

from serving.common.tensors import Image


class FreezeWatch:
    """Tells when the pictures have been identical for ``timeout_s``.

    Identical to the last bit of a small thumbnail: the noise of a working sensor changes some of its pixels even
    where nothing moves, so a still scene is not mistaken for a frozen camera.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._still: Image | None = None
        self._since_s = 0.0

    def frozen(self, thumbnail: Image, now_s: float) -> bool:
        """Feed the next thumbnail, taken at ``now_s`` on any steady clock."""
        if self._still is None or not np.array_equal(self._still, thumbnail):
            self._still = thumbnail
            self._since_s = now_s
        return now_s - self._since_s >= self._timeout_s
