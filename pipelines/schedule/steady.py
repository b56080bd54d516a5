"""Rates that are planned for, and numbers that are wanted, which do not follow every wave of the load.

So equal load moves nothing, and nobody starts what is ended a minute later. Pure but for their state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import inf

from operators.wire.fleet import MOST_RATE
from pipelines.schedule.fleet_view import Key

HEADROOM = 1.15
"""Planned for is so many times what is asked, for rates vary."""
SPARE = 0.5
"""… and so many items per second more."""
LOW = 0.65
"""Below such a share of what is planned for, the plan is for less."""
IDLE_S = 60.0
"""A model that nobody asks for keeps its place for so long: a street may be empty for a while."""
MOST = 2000
"""Sessions that are planned for, those that are asked for before others."""


class SteadyRates:
    """The rates that are planned for.

    >>> steady = SteadyRates()
    >>> key = ("cars", 200.0, 0)
    >>> [round(steady.planned({key: asked}, 0.0)[key], 1) for asked in (100.0, 110.0, 90.0, 130.0, 80.0)]
    [115.5, 115.5, 115.5, 150.0, 92.5]
    >>> [steady.planned({}, now_s) for now_s in (59.0, 60.0)]
    [{('cars', 200.0, 0): 0.5}, {}]
    """

    def __init__(self) -> None:
        self._planned: dict[Key, float] = {}
        self._asked_s: dict[str, float] = {}
        """By model of ``_planned``: when it was asked for last."""

    def planned(self, asked: Mapping[Key, float], now_s: float) -> dict[Key, float]:
        """By session: what to plan for now."""
        self._planned = self._steady(asked, now_s)
        last_s = self._asked_s | dict.fromkeys((model for model, _, _ in asked), now_s)
        self._asked_s = {model: last_s[model] for model, _, _ in self._planned}
        return dict(self._planned)

    def have_changed(self, asked: Mapping[Key, float], now_s: float) -> bool:
        """Whether a rate has left the band in which the plan stays as it is."""
        return self._steady(asked, now_s) != self._planned

    def _steady(self, asked: Mapping[Key, float], now_s: float) -> dict[Key, float]:
        models = {model for model, _, _ in asked}
        idle = [
            (key, 0.0)
            for key in self._planned
            if key[0] not in models and now_s - self._asked_s.get(key[0], -inf) < IDLE_S
        ]
        return {key: self._rate(key, rate) for key, rate in [*asked.items(), *idle][:MOST]}

    def _rate(self, key: Key, asked: float) -> float:
        planned = self._planned.get(key, 0.0)
        if LOW * planned <= asked + SPARE and asked <= planned:
            return planned
        return min(HEADROOM * asked + SPARE, MOST_RATE)


class SteadyNumbers:
    """Wanted numbers rise at once, and fall when they have been lower for a while.

    >>> numbers = SteadyNumbers(release_s=120.0)
    >>> [numbers.wanted({"gpu": count}, now_s)["gpu"] for now_s, count in ((0, 3), (30, 5), (60, 2), (151, 2))]
    [3, 5, 5, 2]
    """

    def __init__(self, release_s: float) -> None:
        self._release_s = release_s
        self._past: deque[tuple[float, Mapping[str, int]]] = deque()

    def wanted(self, now: Mapping[str, int], now_s: float) -> dict[str, int]:
        """By kind: the most of what was wanted of late."""
        self._past.append((now_s, now))
        while now_s - self._past[0][0] > self._release_s:
            self._past.popleft()
        kinds = sorted({kind for _, numbers in self._past for kind in numbers})
        return {kind: max(numbers.get(kind, 0) for _, numbers in self._past) for kind in kinds}
