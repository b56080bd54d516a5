"""How a loaded network fares: what it served since the last look, and its state (Romero et al., 2021, §5)."""

from __future__ import annotations

from dataclasses import dataclass

from serving.latency import LatencyTable
from serving.variant_state import Observed, State, load_of, next_state

LOOK_S = 2.0
"""Between two looks, as in §5."""


@dataclass(frozen=True, slots=True)
class Fare:
    """What the last look saw."""

    state: State
    load: float = 0.0
    """Share of the peak throughput that was served."""


UNLOADED = Fare(State.INACTIVE)


class Monitor:
    """Watches one session. Told of every batch by the device's thread, asked by others."""

    def __init__(self, profile: LatencyTable | None, max_batch: int, now: float) -> None:
        """``profile``: what was measured when nothing disturbed; None: what disturbs cannot be told."""
        self._profile, self._max_batch = profile, max_batch
        self._since = now
        self._items, self._took_s, self._expected_s = 0, 0.0, 0.0
        self._fare = Fare(State.ACTIVE)

    def ran(self, items: int, seconds: float) -> None:
        """A batch was run."""
        self._items += items
        self._took_s += seconds
        self._expected_s += self._profile(items) if self._profile else seconds

    def fare(self, latency: LatencyTable, now: float) -> Fare:
        """As of the last look, which is now where the one before is long ago; ``latency``: as it is known now."""
        if now - self._since >= LOOK_S:
            self._fare = self._look(latency, now)
            self._since, self._items, self._took_s, self._expected_s = now, 0, 0.0, 0.0
        return self._fare

    def _look(self, latency: LatencyTable, now: float) -> Fare:
        rate = self._items / (now - self._since)
        ratio = self._took_s / self._expected_s if self._expected_s else 1.0
        peak = saturation(self._profile or latency, self._max_batch)
        state = next_state(self._fare.state, Observed(True, rate, ratio), peak)
        return Fare(state, load_of(rate, peak))


def saturation(latency: LatencyTable, max_batch: int) -> float:
    """The most items per second that batches of one length give; infinite where no latency is known."""
    known = ((places, latency(places)) for places in range(1, max_batch + 1))
    return max((places / seconds for places, seconds in known if seconds > 0), default=float("inf"))
