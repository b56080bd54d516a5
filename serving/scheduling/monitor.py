"""The health of a loaded network: its load since the last look, and its state (Romero et al., 2021, §5)."""

from __future__ import annotations

from dataclasses import dataclass

from serving.scheduling.health import Observed, State, next_state, share_of_peak
from serving.scheduling.latency import LatencyTable

LOOK_S = 2.0
"""Between two looks, as in §5."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state and load at the last look."""

    state: State
    load: float = 0.0
    """Share of the peak throughput that was served."""


UNLOADED = Health(State.INACTIVE)


class Monitor:
    """Watches one session: the device's thread reports every batch, other threads read its health."""

    def __init__(self, profile: LatencyTable | None, max_batch: int, now: float) -> None:
        """``profile``: latencies measured without disturbance; None: interference cannot be detected."""
        self._profile, self._max_batch = profile, max_batch
        self._since = now
        self._items, self._took_s, self._expected_s = 0, 0.0, 0.0
        self._health = Health(State.ACTIVE)

    def ran(self, items: int, seconds: float) -> None:
        """Count a batch."""
        self._items += items
        self._took_s += seconds
        self._expected_s += self._profile(items) if self._profile else seconds

    def health(self, latency: LatencyTable, now: float) -> Health:
        """The health at the last look; looks anew where that was long ago. ``latency``: as it is known now."""
        if now - self._since >= LOOK_S:
            self._health = self._look(latency, now)
            self._since, self._items, self._took_s, self._expected_s = now, 0, 0.0, 0.0
        return self._health

    def _look(self, latency: LatencyTable, now: float) -> Health:
        rate = self._items / (now - self._since)
        ratio = self._took_s / self._expected_s if self._expected_s else 1.0
        peak = saturation(self._profile or latency, self._max_batch)
        state = next_state(self._health.state, Observed(True, rate, ratio), peak)
        return Health(state, share_of_peak(rate, peak))


def saturation(latency: LatencyTable, max_batch: int) -> float:
    """The most items per second that batches of one length give; infinite where no latency is known."""
    known = ((places, latency(places)) for places in range(1, max_batch + 1))
    return max((places / seconds for places, seconds in known if seconds > 0), default=float("inf"))
