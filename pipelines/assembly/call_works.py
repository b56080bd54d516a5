"""The work of calls, expected and measured: processor time and energy of this machine, and what goes over the wire."""

from __future__ import annotations

import numpy as np

from operators.audits.unit_costs import UnitCosts
from operators.inference import Inference
from serving.budgets.energy import EnergyMeter
from serving.budgets.prices import CallWork
from serving.common.wire_use import WireUse

NEWEST = 0.2
"""Share of the newest call in the mean bytes of a picture."""


class CallWorks:
    """By what the engine has measured of models of late; nothing is known of a network that has not run."""

    def __init__(self, engine: Inference, meter: EnergyMeter | None = None, uses_cards: bool = False) -> None:
        """``uses_cards``: whether the energy of a picture is what the card says, where no meter tells."""
        self._engine, self._costs, self._meter, self._uses_cards = engine, UnitCosts(engine), meter, uses_cards
        self._bytes: dict[str, float] = {}
        """Bytes of one picture over the wire and back, by model."""

    def here(self, model: str, pictures: int) -> CallWork:
        """The expected work of a call to a network of this machine; its energy is None where nothing tells it."""
        return self._work(model, pictures)

    def elsewhere(self, model: str, pictures: int) -> CallWork:
        """The expected work of a call to a network of another one."""
        sent = self._bytes.get(model)
        if sent is None:
            shown = self._engine.card(model).input
            sent = float(shown.width * shown.height * 3 * np.dtype(shown.dtype).itemsize)
        return self._work(model, pictures)._replace(calls=1.0, sent_bytes=pictures * sent)

    def of_call(self, model: str, pictures: int, use: WireUse) -> CallWork:
        """The work of a call that has ended; ``pictures``: 0 where it failed."""
        if use.calls and pictures:
            newest = use.bytes / pictures
            before = self._bytes.get(model, newest)
            self._bytes[model] = before + NEWEST * (newest - before)
        return self._work(model, pictures)._replace(calls=float(use.calls), sent_bytes=float(use.bytes))

    def of_seconds(self, processor_s: float) -> CallWork:
        """The work of other things that this machine does."""
        return CallWork(processor_s=processor_s, joules=self._measured(processor_s))

    def _work(self, model: str, pictures: int) -> CallWork:
        processor_s = (self._costs.network_s(model) or 0.0) * pictures
        joules = self._measured(processor_s)
        if joules is None and self._uses_cards:
            one = self._engine.card(model).joules
            joules = None if one is None else one * pictures
        return CallWork(processor_s=processor_s, joules=joules)

    def _measured(self, processor_s: float) -> float | None:
        per_s = None if self._meter is None else self._meter.joules_per_processor_s()
        return None if per_s is None else per_s * processor_s
