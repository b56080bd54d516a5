"""The network whose cuts exits sit on, as the engine runs it: rows leave at exits, or run on and give their taps.

It is the oracle itself, or a *lender* where the oracle is on another machine (``lent_cuts``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from learning.budget import Budget
from operators.audits.unit_costs import UnitCosts
from operators.inference import Inference, outputs_of
from serving.common.tensors import Image
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitResult, RowPolicy
from serving.errors import SluiceError
from serving.scheduling.requests import Urgency

if TYPE_CHECKING:
    from cache_adapt.learned.specs import ExitCut

log = logging.getLogger(__name__)

OPENING_S, BYTE_S = 0.3, 18e-9
"""First guess of the processor time of cutting a network and loading it once more: at least, and for each byte."""
LEAST_LOOK_S = 0.0035
"""Processor seconds of a look: in a faster network cuts and lookups take what exits save. On a busy machine all looks
take up to twice as long, and a network of 1.2 ms must not be taken for one that is worth it."""
CUT_SHARE, MOST_CUT_SHARE = 0.04, 0.12
"""Share of a look that cuts and taps take, at least and at most: the looks that tell it are of different moments."""


class LookSeconds(NamedTuple):
    """Costs of one look, in seconds."""

    through: float
    """The network that is cut, without its cuts."""
    beyond: float = 0.0
    """The network that answers what leaves at no exit, where that is another one."""


class CutOracle:
    """One for a node. It is opened once somebody wants it and the budget of learning pays it."""

    def __init__(
        self,
        engine: Inference,
        oracle: str,
        places: Callable[[], Sequence[ExitCut]],
        budget: Budget,
        weights_bytes: int = 0,
        has_exits: bool = False,
    ) -> None:
        """``places``: chooses the cuts, in a thread; ModelError where the network cannot be cut.

        ``has_exits``: whether there are exits before it is open, which are known to pay: to open it is to load a
        network then, for which the budget of learning does not pay.
        """
        self.costs, self.budget, self.oracle = UnitCosts(engine), budget, oracle
        self.network = oracle
        """The network that is cut."""
        self.places: Sequence[ExitCut] = ()
        """The cuts, in dataflow order; none until it is open."""
        self._engine, self._find, self._weights_bytes = engine, places, weights_bytes
        self._has_exits = has_exits
        self._name: str | None = None
        self._opening: asyncio.Task[None] | None = None
        self._fault: str | None = None
        """Why it cannot be run."""

    @property
    def is_open(self) -> bool:
        return self._name is not None

    @property
    def why_not(self) -> str | None:
        """Why it is not used, in one sentence; None where it is, or nobody knows yet."""
        if self._fault is not None:
            return self._fault
        if 0 < self.whole_s < LEAST_LOOK_S:
            return (
                f"a look of {self.oracle} takes {1000 * self.whole_s:.2f} ms of processor time, and below "
                f"{1000 * LEAST_LOOK_S:g} ms cuts and lookups take what exits save"
            )
        return None

    def why_none_yet(self, looks: int) -> str | None:
        """Why no exits answer on a stream after so many looks, where that is said unasked."""
        return None

    @property
    def cuts(self) -> tuple[str, ...]:
        return tuple(place.tensor for place in self.places)

    @property
    def whole_s(self) -> float:
        """Processor seconds of one look of the network without cuts; 0 as long as that is not known."""
        return self.costs.look_s(self.oracle) or 0.0

    @property
    def look_s(self) -> float:
        """Processor seconds of one look through the cut network, over looks of late."""
        found = None if self._name is None else self.costs.look_s(self._name)
        return self.whole_s if found is None else found

    @property
    def seconds(self) -> LookSeconds:
        return LookSeconds(self.whole_s)

    @property
    def trial_s(self) -> float:
        """Processor seconds that a look costs which goes through the cuts though it leaves nowhere."""
        return min(max(self.look_s - self.whole_s, CUT_SHARE * self.whole_s), MOST_CUT_SHARE * self.whole_s)

    def beyond_s(self, answered: int, ended: int) -> float:
        """Seconds of looks through the cuts beyond those that the oracle alone takes for what ran on."""
        return (answered + ended) * self.look_s - ended * self.whole_s

    def may_audit(self, looks: int) -> bool:
        """Whether an object with so many looks may be drawn for an audit."""
        return True

    @property
    def opening_s(self) -> float:
        return OPENING_S + BYTE_S * self._weights_bytes

    def open_where_due(self) -> None:
        """Have it opened, if that can be paid; looks do not wait for that."""
        if self._name is not None or self._opening is not None or self.why_not is not None or not self.whole_s:
            return
        if self.budget.may_spend(0.0) if self._has_exits else self.budget.reserve(self.opening_s):
            self._opening = asyncio.create_task(self._open())

    async def open(self) -> float:
        """Cut and load it; ModelError where that is not possible. Returns the processor seconds that it took."""
        took = ThreadTime()
        places = await in_thread(took.of(self._find))
        name = await in_thread(took.of(partial(self._engine.add_cuts, self.network, [each.tensor for each in places])))
        seconds = await self._engine.load(name)
        self._name, self.places = name, places
        return seconds + took.seconds

    def failed(self, error: Exception) -> None:
        """It does not run: the oracle answers without exits in this process."""
        self._fault, self._name = str(error) or type(error).__name__, None
        unforeseen = None if isinstance(error, SluiceError) else error
        log.warning("%s: no exits: %s", self.network, self._fault, exc_info=unforeseen)

    async def run(self, crops: Sequence[Image], policy: RowPolicy, urgency: Urgency) -> ExitResult:
        """Run pictures, each as far as it has to go."""
        assert self._name is not None
        return ExitResult.of(await outputs_of(self._engine, self._name, crops, urgency, policy))

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])

    async def _open(self) -> None:
        seconds = self.opening_s
        try:
            seconds = await self.open()
        except Exception as error:
            self.failed(error)
        finally:
            if not self._has_exits:
                self.budget.pay("opening", self.opening_s, seconds)
