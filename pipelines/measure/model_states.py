"""Whether models of a process are overloaded or interfered at present, from what their networks have run of late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from pipelines.measure.process_meter import NetworkUse, ProcessMeter, latency_ratio, recent
from pipelines.planning.within_states import TROUBLED, ModelStanding
from serving.scheduling.health import Observed, State, next_state, share_of_peak

LOOK_S = 2.0
"""Seconds from one look to the next (Romero et al., 2021, §5)."""
HELD_S = 10.0
"""A model that is overloaded or interfered is seldom asked then, and so soon looks well: it stays so for as long."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A model at the last look."""

    at_s: float
    use: NetworkUse
    state: State = State.INACTIVE
    since_s: float = -inf
    load: float = 0.0


class ModelStates:
    """Used from the event loop; ``now_s`` is that of a steady clock."""

    def __init__(self, meter: ProcessMeter) -> None:
        self._meter = meter
        self._known: dict[str, _Known] = {}

    def at(self, now_s: float, seconds: Mapping[str, Mapping[int, float]]) -> Mapping[str, ModelStanding]:
        """The states of models; ``seconds``: what was measured of their batches, by size."""
        uses = self._meter.networks()
        for model, curve in seconds.items():
            use = uses.get(model, NetworkUse())
            known = self._known.setdefault(model, _Known(now_s, use, State.ACTIVE if use.loaded else State.INACTIVE))
            if now_s - known.at_s >= LOOK_S:
                self._known[model] = _looked(known, use, curve, now_s)
        return {model: ModelStanding(self._known[model].state, self._known[model].load) for model in seconds}


def _looked(known: _Known, use: NetworkUse, curve: Mapping[int, float], now_s: float) -> _Known:
    of_late, most = recent(use, known.use), max(batch / took_s for batch, took_s in curve.items())
    rate = of_late.items / (now_s - known.at_s)
    loaded = use.loaded or use.batches > 0  # a backend answers, and nothing more is known of it
    state = next_state(known.state, Observed(loaded, rate, latency_ratio(of_late, curve) or 1.0), most)
    if state is State.ACTIVE and known.state in TROUBLED and now_s - known.since_s < HELD_S:
        state = known.state
    since_s = known.since_s if state is known.state else now_s
    return _Known(now_s, use, state, since_s, share_of_peak(rate, most))
