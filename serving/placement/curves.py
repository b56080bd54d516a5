"""The batches and duty cycles that a session can have of a device within its SLO (Shen, 2019, §3.4.1). Pure.

The paper's arithmetic is in whole batches: a session that gathers b requests at rate r has a duty cycle of b / r, and
every request is answered within d + ℓ(b). Here a duty cycle d may have any length. A turn then has ⌈r·d⌉ requests at
most where they come evenly, so that d + ℓ(⌈r·d⌉) bounds the time of each; the paper's cycles are the special case in
which r·d is whole. Sessions so slow that nothing is gathered, which the paper's line 9 has no batch for, are in it too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import ceil, inf

from serving.placement.demands import BatchProfile, Demand, DeviceKind, Profiles
from serving.scheduling.estimates import LatencyTable

ROUNDING = 1e-9
"""Seconds, or shares of a whole, that rounding may add."""
LARGEST_BATCH = 1024
"""No larger one is planned, whatever a profile says."""


def gathered(rate: float, seconds: float) -> int:
    """The most requests that come in so many seconds, one at least.

    >>> gathered(64, 0.125), gathered(64, 0.126), gathered(2, 0.1)
    (8, 9, 1)
    """
    return ceil(rate * seconds - 1e-6) or 1


class BatchCurve:
    """ℓ(b) of a model on a kind of device, for every batch size."""

    def __init__(self, profile: BatchProfile) -> None:
        table = LatencyTable(profile.latency_s)
        self.memory_bytes = profile.memory_bytes
        self.seconds = [table(batch) for batch in range(min(LARGEST_BATCH, max(profile.latency_s, default=0)) + 1)]
        self.most_per_s = max((batch / self.seconds[batch] for batch in self.sizes), default=0.0)
        """Items a second that no duty cycle beats."""
        shares = (self.seconds[batch] / batch for batch in self.sizes)
        self._least_s = [inf, *accumulate(shares, min)]
        """Seconds of an item in the best of all batches up to a size."""
        self._longest_s: dict[tuple[float, float], float] = {}

    @property
    def sizes(self) -> range:
        return range(1, len(self.seconds))

    def saturated(self, slo_s: float) -> tuple[int, float]:
        """B and T: the batch, of those that take half of the SLO, that serves most, and how many items a second.

        0 and 0 where one item alone takes longer.
        """
        end = bisect_right(self.sizes, slo_s / 2 + ROUNDING, key=self.seconds.__getitem__)
        best = max(range(1, end + 1), key=lambda batch: (batch / self.seconds[batch], batch), default=0)
        return (best, best / self.seconds[best]) if best else (0, 0.0)

    def least_share(self, rate: float, longest_s: float) -> float:
        """No duty cycle up to this long leaves such a rate a smaller part of a device's time."""
        batch = gathered(rate, longest_s)
        if batch >= len(self.seconds):
            return rate * self._least_s[-1]
        return min(self.seconds[batch] / longest_s, rate * self._least_s[batch - 1])

    def longest_cycle_s(self, slo_s: float, rate: float) -> float:
        """The longest duty cycle within the SLO; 0 where there is none."""
        # Packing asks the same over and over; a curve is kept for one plan only.
        if (slo_s, rate) not in self._longest_s:
            self._longest_s[slo_s, rate] = self._longest_cycle_s(slo_s, rate)
        return self._longest_s[slo_s, rate]

    def _longest_cycle_s(self, slo_s: float, rate: float) -> float:
        def needs_s(batch: int) -> float:
            """More than this has a cycle in which so many are gathered, with the batch."""
            return (batch - 1) / rate + self.seconds[batch]

        batch = bisect_right(self.sizes, slo_s - ROUNDING, key=needs_s)
        return min(batch / rate, slo_s - self.seconds[batch]) if batch else 0.0


@dataclass(frozen=True, slots=True)
class SessionKey:
    """All demands with one key are one session."""

    model: str
    """The name of the group, for models that share a prefix."""
    slo_s: float
    priority: int = 0


@dataclass(frozen=True, eq=False)
class ServedSession:
    """A model with an SLO, all that asks for it, and where it can run."""

    key: SessionKey
    rate: float
    """Items a second."""
    models: Mapping[str, float]
    """The model, or those of the group, with their parts of the rate, 0 to 1."""
    curves: Mapping[str, BatchCurve]
    """By kind of device."""
    kinds: Sequence[DeviceKind] = field(default_factory=list)
    """Those that can keep the SLO, with the cheapest item first."""

    def rates(self, rate: float) -> dict[str, float]:
        """Items a second by model, of so many of the session."""
        return {model: part * rate for model, part in self.models.items()}

    @cached_property
    def saturated(self) -> Mapping[str, tuple[int, float]]:
        """B and T by kind."""
        return {kind: curve.saturated(self.key.slo_s) for kind, curve in self.curves.items()}


def sessions_of(demands: Sequence[Demand], profiles: Profiles, kinds: Sequence[DeviceKind]) -> list[ServedSession]:
    """The sessions, in order of their keys; those that no kind can serve have no ``kinds``."""
    rates: dict[SessionKey, Counter[str]] = {}
    for each in (each for each in demands if each.items_per_s > 0):
        grouped = each.prefix is not None and each.prefix in profiles
        key = SessionKey(each.prefix if grouped and each.prefix else each.model, each.slo_s, each.priority)
        rates.setdefault(key, Counter())[each.model] += each.items_per_s  # type: ignore[assignment]
    curves = {
        model: {kind: BatchCurve(profile) for kind, profile in profiles.get(model, {}).items()}
        for model in {key.model for key in rates}
    }
    order = sorted(rates, key=lambda key: (key.model, key.slo_s, key.priority))
    return [_session(key, rates[key], curves[key.model], kinds) for key in order]


def _session(
    key: SessionKey, rates: Mapping[str, float], curves: Mapping[str, BatchCurve], kinds: Sequence[DeviceKind]
) -> ServedSession:
    costs: list[tuple[float, int]] = []
    for place, kind in enumerate(kinds):
        curve = curves.get(kind.name)
        most = curve.saturated(key.slo_s)[1] if curve and curve.memory_bytes <= kind.memory_bytes else 0.0
        if most:
            costs.append((kind.price / most, place))
    rate = sum(rates.values())
    models = {model: rates[model] / rate for model in sorted(rates)}
    return ServedSession(key, rate, models, curves, [kinds[place] for _, place in sorted(costs)])
