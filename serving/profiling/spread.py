"""Cut points to measure a network's segments between: a few, evenly spread over its work."""

from __future__ import annotations

from collections.abc import Sequence

from serving.graphs.cut_points import CutPoint


def spread(points: Sequence[CutPoint], segments: int) -> list[str]:
    """Tensors that part the network into at most so many segments of about equal multiply-adds, in dataflow order."""
    goals = [index / segments for index in range(1, segments)]
    nearest = [min(points, key=lambda point: abs(point.share - goal)) for goal in goals] if points else []
    return list(dict.fromkeys(point.tensor for point in nearest))
