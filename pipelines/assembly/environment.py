"""The environment in which the operators of a query are built: one, which nobody changes once it is made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cache_adapt.audit.state import Rule
from learning.budget import SHARE, Budget
from operators.frames.mask import Mask
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from operators.zones.layout import Zone
from pipelines.assembly.registry import Shortcuts
from pipelines.query.dag import CompiledQuery, DagNode
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock

if TYPE_CHECKING:
    from cache_adapt.adaptation.elsewhere import Elsewhere
    from cache_adapt.adaptation.here import Here
    from operators.recognise.exits.held_looks import HeldWindows


class Learning:
    """How nodes learn: who makes exits for them, in this process or elsewhere."""

    def __init__(self, catalogue: Catalogue, made: Callable[[], Here], elsewhere: Elsewhere | None = None) -> None:
        """``made``: makes who makes exits in this process; ``elsewhere``: does it in its place."""
        self.catalogue = catalogue
        self._made, self._elsewhere = made, elsewhere
        self._held: HeldWindows | None = None
        self._work: asyncio.Task[None] | None = None

    def maker(self) -> Elsewhere:
        """Who makes exits; in this process nothing of that is imported or started before it is asked for."""
        if self._elsewhere is None:
            self._elsewhere = here = self._made()
            self._work = asyncio.create_task(here.run())
        return self._elsewhere

    def held(self) -> HeldWindows:
        """The looks that thresholds of exits are tuned on; there are none before they are asked for."""
        from operators.recognise.exits.held_looks import HeldWindows  # with what exits are made of

        if self._held is None:
            self._held = HeldWindows()
        return self._held

    async def close(self) -> None:
        """Give up what is being made in this process."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])


@asynccontextmanager
async def learning(known: Catalogue, budget: Budget, elsewhere: Elsewhere | None = None) -> AsyncIterator[Learning]:
    """Provide it while the block runs; at its end nothing is made any more."""
    found = Learning(known, partial(_here, budget), elsewhere)
    try:
        yield found
    finally:
        await found.close()


def _here(budget: Budget) -> Here:
    # Brings what keeps samples and makes exits: not before they are wanted.
    from cache_adapt.adaptation.here import Here
    from cache_adapt.adaptation.jobs import Adaptation
    from cache_adapt.adaptation.trainer import Trainer

    return Here(Adaptation(Trainer(), budget))


@dataclass(frozen=True)
class Audits:
    """The means to find out whether answers that cost less agree with the oracle's."""

    shortcuts: Shortcuts
    """Knows the operators that it audits."""
    rule: Rule
    """Its demands."""
    learning: Learning | None = None
    """None: nothing learns."""
    budget: Budget = field(default_factory=lambda: Budget.beside(SHARE, time.process_time))
    """The budget of learning and of audits, for all nodes together."""

    def changed(self, stream: str) -> None:
        """Note that a phase has changed on a stream."""
        self.shortcuts.news.notify()


@dataclass(frozen=True)
class Environment:
    """The same for all nodes of a query."""

    engine: Inference
    audits: Audits | None = None
    """None: the first listed model answers, whether it agrees with the oracle or not."""
    clock: Clock = SYSTEM
    observer: Observer = UNOBSERVED
    masks: Sequence[Mask] = ()
    """For detectors that look at the whole frame."""
    zones: Sequence[Zone] = ()
    """In which objects may be."""
    nodes: Mapping[str, DagNode] = field(default_factory=dict)
    """All nodes by name: galleries are enrolled as their objects are found."""
    query: str = ""
    """Its name: another query may enrol the same pictures in another way."""
    engines: Mapping[str, Inference] = field(default_factory=dict)
    """By node, in place of ``engine``, for those that pay for their calls."""
    stand_ins: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By node, variants that may come to answer in its network's place, though the query does not list them."""
    stands_in: Callable[[str], str | None] = lambda _node: None
    """The variant that stands in for a node's network and is proven, at this moment: it answers in place of exits."""
    pictures: frozenset[str] = frozenset()
    """Streams of single pictures, by id: each shows something else."""

    def at(self, node: str) -> Environment:
        return replace(self, engine=self.engines[node]) if node in self.engines else self

    @classmethod
    def of(cls, wanted: CompiledQuery, engine: Inference, **more: Any) -> Environment:
        """That of a query; ``more``: other fields."""
        query, nodes = wanted.query, {node.name: node for node in wanted.dag.nodes}
        masks, zones = [each.mask for each in query.masks], query.layout.zones
        return cls(engine, masks=masks, zones=zones, nodes=nodes, query=query.name, pictures=query.pictures, **more)
