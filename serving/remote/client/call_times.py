"""The times of calls to one remote model, as a planner needs them: measured on purpose, and shown by service.

Times in service are compared with the measured ones by their ratio, whatever the number of pictures. Where the ratio
has left a band for good, the measured times are taken to be so many times as long. Pure but for its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log

from serving.scheduling.estimates import LatencyTable

NEWEST = 0.1
"""Share of the newest call in the mean ratio."""
BAND = 1.5
"""So many times longer, or shorter, is another server, another way there, or another load."""
LEAST_CALLS = 10
SHORTEST_S = 1e-6


@dataclass(slots=True)
class CallTimes:
    """Those of one model.

    >>> times = CallTimes()
    >>> times.measured({1: 0.010, 4: 0.016})
    >>> for _ in range(100):
    ...     times.took(1, 0.030)
    >>> {items: round(seconds, 3) for items, seconds in times.current().items()}
    {1: 0.03, 4: 0.048}
    """

    _measured: dict[int, float] = field(default_factory=dict)
    _ratio: float = 0.0
    """The mean logarithm of service time over measured time."""
    _calls: int = 0

    def measured(self, tail_s: Mapping[int, float]) -> None:
        """Seconds of calls with so many pictures, measured on purpose: what service has shown counts no more."""
        self._measured, self._ratio, self._calls = dict(tail_s), 0.0, 0

    def took(self, items: int, took_s: float) -> None:
        """A call with so many pictures was answered."""
        if self._measured:
            ratio = log(max(took_s, SHORTEST_S) / max(LatencyTable(self._measured)(items), SHORTEST_S))
            self._calls += 1
            self._ratio += max(NEWEST, 1 / self._calls) * (ratio - self._ratio)

    def current(self) -> dict[int, float]:
        """Seconds by the number of pictures, as they are now; none where nothing was measured."""
        if self._calls >= LEAST_CALLS and abs(self._ratio) > log(BAND):
            factor = exp(self._ratio)
            self.measured({items: factor * seconds for items, seconds in self._measured.items()})
        return dict(self._measured)
