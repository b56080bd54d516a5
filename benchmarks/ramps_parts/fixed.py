"""Thresholds that are tuned once and stay: BranchyNet as Dai et al. (2024) [Apparate], §5.3, compare with it."""

from __future__ import annotations

import numpy as np

from benchmarks.caches_parts.certified import effect, rows
from cache_adapt.exits.record import Record, Thresholds
from cache_adapt.exits.thresholds import tuned

SAMPLED = 0.1
"""Share of the stream, all over it, that thresholds are tuned on."""
GRID = np.linspace(0, 1, 201)


def sampled(stream: Record) -> Record:
    return rows(stream, np.arange(0, stream.inputs, round(1 / SAMPLED)))


def same(record: Record, agreement: float) -> Thresholds:
    """The best threshold that all exits have in common."""
    found, most = np.zeros(record.exits), -1.0
    for value in GRID:
        tried = np.full(record.exits, value)
        now = effect(record, tried)
        if now.agreement >= agreement and now.saved > most:
            found, most = tried, now.saved
    return found


def branchynet(stream: Record, agreement: float) -> dict[str, Thresholds]:
    """The default, thresholds of their own (+), and both tuned on what they are judged on (opt)."""
    some = sampled(stream)
    choices = [same(stream, agreement), tuned(stream, agreement)]
    return {
        "BranchyNet": same(some, agreement),
        "BranchyNet+": tuned(some, agreement),
        "BranchyNet-opt": max(choices, key=lambda each: effect(stream, each).saved),
    }
