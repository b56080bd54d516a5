"""Which variants are worth having: those that no other beats in speed and quality at once."""

from __future__ import annotations

from collections.abc import Sequence


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each (latency, quality) whether none other is at least as good in both and better in one."""
    return [
        not any(
            latency <= own_latency and quality >= own_quality and (latency, quality) != (own_latency, own_quality)
            for latency, quality in points
        )
        for own_latency, own_quality in points
    ]
