"""Parameters of the tracker, as the query's track node sets them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """Parameters of the tracker."""

    confirm_s: float = 0.15
    """Time that a region must be seen before it gets its id, so that noise gets none."""
    lost_after_s: float = 1.5
    """Time without being seen after which a track ends."""
    max_distance: float = 0.8
    """1 − intersection over union of the predicted and the found box, widened by what is not known of the predicted
    place, up to which they may be the same object."""
