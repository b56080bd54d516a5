"""The stand-ins of a query's networks while it runs: holds contests, opens winners, and gives up those that do not pay.

All of it begins only where the network's past use would have paid it back, and is paid from the budget of learning; but
to open a stand-in that is proven is to load a network.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from learning.budget import Budget
from learning.retry_gap import RetryGap
from operators.inference import Inference
from pipelines.measure.stand_ins.payback import GAIN, Doubt, pays
from pipelines.measure.stand_ins.planner import Chosen
from pipelines.measure.stand_ins.roles import contests, listed, proven_by, stood_in_for
from pipelines.measure.stand_ins.shown import ShownItems, Watched
from pipelines.query.dag import CompiledQuery
from serving.catalogue.lookup import Entry
from serving.common.child_job import in_child
from serving.common.clock import SYSTEM, Clock, sleep
from serving.common.untrusted import decode
from serving.errors import SluiceError
from serving.variants.contest import Contender, Contest, in_words, read, store, winner

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""Time between two looks at what is worth its cost."""
SOON_S = 1.0
"""The same, as long as a stand-in that is proven is not open."""
CONTEST_S = 6.0
"""Processor seconds of a contest, as far as is known before one."""
CONTEST_SHARE = 0.01
"""One is held once it takes no more than this share of what the process has used: ``sluice learn`` holds it before."""
NEAR = 0.5
"""Pictures for it are kept from this part of the way to it on."""
LEAST_S = 1.0
"""The least that opening a stand-in and auditing it costs."""
SHADOW = 2.0
"""It costs so many times as much where its looks in the shadow are paid too: its contest has not proven it."""
MOST_FAILURES = 5
"""Contests that may come to nothing in a process: a variant may end every one that it is in."""
FIRST_GAP = 6
"""Looks until a contest that came to nothing is tried again, at first."""


@dataclass(eq=False)
class _Model:
    """One network that may have a stand-in."""

    entry: Entry
    nodes: Sequence[str]
    variants: Sequence[str]
    """Those that may come to answer in this process."""
    contest: Contest | None
    proven: Contender | None
    """The winner of the contest, where that has proven it: looked up for every look of the network."""
    chosen: Contender | None = None
    over: bool = False
    """Whether nothing more is tried in this process."""
    looks: int = 0
    gap: RetryGap = field(default_factory=lambda: RetryGap(FIRST_GAP))
    doubt: Doubt = field(default_factory=Doubt)


class StandIns:
    """Those of one query; used from its event loop."""

    def __init__(self, wanted: CompiledQuery, artefacts_dir: Path, engine: Inference, clock: Clock = SYSTEM) -> None:
        query = wanted.query
        self._accuracy, self._known, self._artefacts_dir, self._clock = (
            query.accuracy,
            wanted.catalogue,
            artefacts_dir,
            clock,
        )
        self._models: dict[str, _Model] = {}
        for model, (entry, contest) in contests(query, wanted.catalogue, artefacts_dir).items():
            nodes = [spec.name for spec in query.nodes if stood_in_for(spec, query) == model]
            if variants := listed(entry, contest, query.accuracy):
                self._models[model] = _Model(entry, nodes, variants, contest, proven_by(contest, query.accuracy))
        self.engine = Watched(engine, self._models, random.Random(0)) if self._models else engine
        """The engine that nodes are to use."""
        self.chosen: dict[str, Chosen] = {}
        """The stand-ins of this moment, by node."""
        self.lenders: dict[str, StandIns] = {}
        """By node that was built for another query, which uses it too: those of that query."""

    @cached_property
    def by_node(self) -> Mapping[str, Sequence[str]]:
        """The variants that may come to answer, by node."""
        return {node: each.variants for each in self._models.values() for node in each.nodes}

    def of(self, node: str) -> Chosen | None:
        """The stand-in that is to answer in a node now."""
        return self.chosen.get(node) if (lender := self.lenders.get(node)) is None else lender.of(node)

    def proven(self, node: str) -> str | None:
        """The stand-in that a contest has proven for a node's network, unless it was given up."""
        if (lender := self.lenders.get(node)) is not None:
            return lender.proven(node)
        for each in self._models.values():
            if node in each.nodes and each.proven is not None and not each.over:
                return each.proven.variant
        return None

    async def run(self, budget: Budget) -> None:
        """Look what is worth its cost until this is cancelled; a failure costs the one stand-in alone."""
        while not all(each.over for each in self._models.values()):
            is_awaited = any(each.proven and not (each.chosen or each.over) for each in self._models.values())
            await sleep(self._clock, SOON_S if is_awaited else LOOK_S)
            for model, each in self._models.items():
                try:
                    await self._look(model, each, budget)
                except Exception:
                    log.exception("%s gets no stand-in", model)
                    self._end(each)
                if each.over or each.contest is not None:
                    self._use(model).forget()

    async def _look(self, model: str, each: _Model, budget: Budget) -> None:
        use = self._use(model)
        each.looks += 1
        if each.over or not each.gap.is_over(each.looks):
            return
        if each.contest is None:
            near = budget.used_s * CONTEST_SHARE / CONTEST_S
            if near >= NEAR:
                use.keep()
            if near >= 1 and use.is_shown and pays(use.taken_s, GAIN, CONTEST_S):
                await self._hold(model, each, use, budget)
        elif each.chosen is None:
            await self._open(model, each, use, budget)
        elif each.doubt.given_up(self.engine.processor_s(each.chosen.variant), use.item_s):
            log.info("%s answers itself again: %s costs no less here", model, each.chosen.variant)
            self._end(each)

    def _take(self, each: _Model, contest: Contest | None) -> None:
        each.contest, each.proven = contest, proven_by(contest, self._accuracy)

    async def _hold(self, model: str, each: _Model, use: ShownItems, budget: Budget) -> None:
        """Hold the contest, unless another process has done so meanwhile."""
        self._take(each, read(each.entry, self._artefacts_dir))
        if each.contest is not None or not budget.reserve(CONTEST_S):
            return
        spent_s = CONTEST_S
        try:
            contest, spent_s = await self._held(each, use)
            self._take(each, contest)
        except SluiceError as error:
            each.gap.failed(each.looks)
            log.info("%s has no stand-in yet: %s", model, error)
            if each.gap.failures >= MOST_FAILURES:
                self._end(each)
            return
        finally:
            budget.pay("opening", CONTEST_S, spent_s)
        try:
            store(contest, each.entry, self._artefacts_dir)
        except SluiceError as error:
            log.info("%s: its variants are compared at every start: %s", model, error)

    async def _held(self, each: _Model, use: ShownItems) -> tuple[Contest, float]:
        """A contest in a process of its own, and its cost; SluiceError where nothing comes of it."""
        # Brings runtimes and what compares outputs: not before they are wanted.
        from pipelines.measure.stand_ins.contest_job import CHILD, NAME, ContestJob

        job = ContestJob.of(self._known, self._artefacts_dir, each.variants, use.items)
        answer = await in_child(CHILD, NAME, msgspec.json.encode(job))
        if answer.error:
            raise SluiceError(answer.error)
        return decode(answer.result, Contest), answer.processor_s

    async def _open(self, model: str, each: _Model, use: ShownItems, budget: Budget) -> None:
        """Open the winner once that is worth its cost."""
        assert each.contest is not None
        won = winner(each.contest, self._accuracy)
        if won is None or won.variant not in each.variants:
            self._end(each)
            return
        proven = each.proven is not None
        cost_s = max(won.load_s, LEAST_S) * (1 if proven else SHADOW)
        gain = 1 - won.processor_s / each.contest.processor_s
        if not pays(use.taken_s, gain, cost_s):
            return
        if not (budget.may_spend(0.0) if proven else budget.reserve(won.load_s)):
            return
        spent_s = won.load_s
        try:
            spent_s = await self.engine.load(won.variant)
        except SluiceError as error:
            log.warning("%s cannot be opened, so %s answers itself: %s", won.variant, model, error)
            self._end(each)
            return
        finally:
            if not proven:
                budget.pay("opening", won.load_s, spent_s)
        why = in_words(each.contest, won)
        log.info("%s is tried: %s", won.variant, why)
        each.chosen = won
        self.chosen |= dict.fromkeys(each.nodes, Chosen(won.variant, why, proven))

    def _use(self, model: str) -> ShownItems:
        assert isinstance(self.engine, Watched)
        return self.engine.uses[model]

    def _end(self, each: _Model) -> None:
        """Try nothing more in this process."""
        each.over = True
        for node in each.nodes:
            self.chosen.pop(node, None)
