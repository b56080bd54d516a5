"""How much processor time one item of a network takes, all threads together. Pure.

The clock is the process's without its event loop, so whatever else runs beside a batch, decoders above all, is in its
figure too. It can only add to it: the least of the newest figures is nearest to the network's own.
"""

from __future__ import annotations

from collections import deque

ROUNDS = 16
"""Batches that are remembered: what a network takes may change, as when the machine's cores are shared anew."""
SELDOM = 4
"""After so many, only one batch in four is timed: asking for processor time is itself a call to the system."""
SURE = 8
"""After so many the least is believed where two networks are compared: one may have run in a busy moment only."""


class ProcessorMeter:
    """Watches one session; the device's thread reports every batch, other threads read.

    >>> meter = ProcessorMeter()
    >>> meter.ran(items=4, processor_s=0.08)
    >>> meter.ran(items=1, processor_s=0.03)
    >>> meter.item_s
    0.02
    """

    def __init__(self, rounds: int = ROUNDS) -> None:
        self._newest: deque[float] = deque(maxlen=rounds)
        self._singles: deque[float] = deque(maxlen=rounds)
        self._batches = 0

    def is_due(self) -> bool:
        """Whether the next batch is to be timed; called once for each."""
        self._batches += 1
        return self._batches <= ROUNDS or self._batches % SELDOM == 0

    @property
    def item_s(self) -> float | None:
        """Processor seconds of one item; None before the first batch."""
        return min(tuple(self._newest), default=None)

    @property
    def single_s(self) -> float | None:
        """Processor seconds of an item that runs alone, which takes more than one of many; None before a few have."""
        return min(tuple(self._singles)) if len(self._singles) >= SURE else None

    def ran(self, items: int, processor_s: float) -> None:
        """A batch of so many items went through while the process used so many processor seconds."""
        if items > 0:
            self._newest.append(max(0.0, processor_s) / items)
        if items == 1:
            self._singles.append(max(0.0, processor_s))
