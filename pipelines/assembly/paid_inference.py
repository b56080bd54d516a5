"""The engine of a node that draws on budgets: each request is reserved before it is made, and paid by what it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from operators.audits.unit_costs import UnitCosts
from operators.inference import Inference, InferenceAround
from pipelines.assembly.engine import QueryEngine
from serving.budgets.energy import EnergyMeter
from serving.budgets.node_spending import NodeSpending
from serving.budgets.prices import CallWork
from serving.common.clock import Clock
from serving.common.tensors import Array
from serving.common.wire_use import WireUse, counting
from serving.engines.exits import RowPolicy
from serving.scheduling.requests import PriceAt, Urgency, free
from serving.variants.timings import VariantFigures

NEWEST = 0.2
"""Share of the newest call in the mean bytes of a picture."""


class CallWorks:
    """By what the engine has measured of models of late; nothing is known of a network that has not run."""

    def __init__(self, engine: Inference, meter: EnergyMeter | None = None, uses_cards: bool = False) -> None:
        """``uses_cards``: whether the energy of a picture is what the card says, where no meter tells."""
        self._engine, self._costs, self._meter, self._uses_cards = engine, UnitCosts(engine), meter, uses_cards
        self._bytes: dict[str, float] = {}
        """Bytes of one picture over the wire and back, by model."""

    def elsewhere(self, model: str, pictures: int) -> CallWork:
        """The expected work of a call to a network of another one."""
        sent = self._bytes.get(model)
        if sent is None:
            shown = self._engine.card(model).input
            sent = float(shown.width * shown.height * 3 * np.dtype(shown.dtype).itemsize)
        return self.here(model, pictures)._replace(calls=1.0, sent_bytes=pictures * sent)

    def of_call(self, model: str, pictures: int, use: WireUse) -> CallWork:
        """The work of a call that has ended; ``pictures``: 0 where it failed."""
        if use.calls and pictures:
            newest = use.bytes / pictures
            before = self._bytes.get(model, newest)
            self._bytes[model] = before + NEWEST * (newest - before)
        return self.here(model, pictures)._replace(calls=float(use.calls), sent_bytes=float(use.bytes))

    def of_seconds(self, processor_s: float) -> CallWork:
        """The work of other things that this machine does."""
        return CallWork(processor_s=processor_s, joules=self._measured(processor_s))

    def here(self, model: str, pictures: int) -> CallWork:
        """The expected work of a call to a network of this machine; its energy is None where nothing tells it."""
        processor_s = (self._costs.network_s(model) or 0.0) * pictures
        joules = self._measured(processor_s)
        if joules is None and self._uses_cards:
            one = self._engine.card(model).joules
            joules = None if one is None else one * pictures
        return CallWork(processor_s=processor_s, joules=joules)

    def _measured(self, processor_s: float) -> float | None:
        per_s = None if self._meter is None else self._meter()
        return None if per_s is None else per_s * processor_s


class NodePurse:
    """Pays for the calls of a node, by any name of its models."""

    def __init__(
        self, spending: NodeSpending, works: CallWorks, autos: Mapping[str, Sequence[str]], clock: Clock
    ) -> None:
        """``autos``: by the name of a model that may be anywhere, its names at its places, this machine's first."""
        self.spending, self.works, self._autos, self._clock = spending, works, autos, clock

    @property
    def now_s(self) -> float:
        return self._clock.monotonic_s()

    def paid(self, now_s: float) -> Mapping[str, float]:
        """For how many pictures each listed model is paid; one that may be anywhere, at one of its places."""
        found = self.spending.paid(now_s)
        return found | {auto: max(found[name] for name in names) for auto, names in self._autos.items()}

    def price_at(self, name: str) -> float:
        return self.spending.price(name, self.now_s)


class PaidInference(InferenceAround):
    """Pays for what it asks another engine. Used from one event loop."""

    def __init__(self, engine: Inference, purse: NodePurse, paid: Callable[[], None]) -> None:
        """``paid`` is called after each request."""
        super().__init__(engine)
        self._purse, self._paid = purse, paid
        self._listed: dict[str, str] = {}
        """By the name of a model that is cut, the name that the query lists."""

    def place_of(self, model: str, price: PriceAt = free) -> str:
        """See ``Inference``; the price is what the node pays."""
        return super().place_of(model, self._purse.price_at)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        name = super().add_cuts(model, cuts)
        self._listed[name] = model
        return name

    async def load(self, model: str) -> float:
        """See ``Inference``; loading is paid as well, and never refused."""
        took_s = await super().load(model)
        if took_s > 0:
            work = self._purse.works.of_seconds(took_s)
            self._purse.spending.loaded(self._listed.get(model, model), work, self._purse.now_s)
        return took_s

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        """See ``Inference``; raises BudgetSpent where a budget does not pay for it."""
        purse, listed, ran = self._purse, self._listed.get(model, model), 0
        charges = purse.spending.reserve(listed, len(batch), purse.now_s)
        with counting() as use:
            try:
                answer = await super().infer(model, batch, urgency, policy)
                ran = len(batch)
                return answer
            finally:
                purse.spending.pay(listed, charges, purse.works.of_call(model, ran, use))
                self._paid()


class PaidMeasures(PaidInference):
    """Measures with another engine, and pays for it; a ``Measures``."""

    def __init__(self, engine: QueryEngine, purse: NodePurse, paid: Callable[[], None]) -> None:
        super().__init__(engine, purse, paid)
        self._measures = engine

    def measured(self, model: str) -> VariantFigures | None:
        return self._measures.measured(model)

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        return self._measures.keep(model, tail_s)
