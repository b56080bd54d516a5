"""Supplies the caches of a node: built ones from a file, or caches built from the node's own looks; its purse pays."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from cache_adapt.caches.job import CachesAnswer, CachesJob, CutJob
from learning.job_child import LARGEST_BYTES
from operators.inference import Inference
from operators.recognise.account.books import Books
from operators.recognise.account.estimate import Estimate
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.cached.own_samples import OwnTaps
from operators.recognise.cached.sampled_engine import SampledEngine
from serving.common.threads import in_thread
from serving.common.untrusted import decode
from serving.engines.exits import ExitOutputs
from serving.errors import SluiceError

if TYPE_CHECKING:
    from cache_adapt.caches.store import BuiltCaches

log = logging.getLogger(__name__)

LEAST_ORACLE_S = 0.003
"""Processor seconds of a look: in a faster oracle cuts and lookups take what caches save."""
LEAST_SAMPLES, MOST_SAMPLES = 500, 16_000
"""Caches are built from so many samples first, and again whenever there are twice as many, until they pay."""
BUILDING_S = 6.0
"""First guess of the processor time of building."""
TAPPED = 0.06
"""What a look with open taps costs more, as a share of the oracle's."""
CUT_S = 0.00015
"""Processor seconds of a cut and its tap, for one item."""
PATIENCE = 60.0
"""Caches are left when they have cost more than they saved by so many looks of the oracle."""
ARCHITECTURES = ("FC(64)",)
INDEPENDENT = 0.35
"""As how many samples each counts: a track gives about four, whose errors are alike (intraclass correlation .6)."""


class Runner(Protocol):
    """Runs a job elsewhere."""

    async def run(self, job: bytes) -> bytes:
        """Return the answer; SluiceError where there is none."""
        ...

    async def close(self) -> None:
        """Give up the job under way."""
        ...


@dataclass(frozen=True, slots=True)
class CutPlan:
    """A place for a cache in an oracle that has none yet."""

    tensor: str
    grid: tuple[int, int, int]
    share: float
    """Share of the oracle's work that is done up to here."""


@dataclass(frozen=True)
class CacheSource:
    """Where the caches of a node come from."""

    built: BuiltCaches | None
    """Caches from a file; None: they are built from the node's own looks."""
    plan: Callable[[], Sequence[CutPlan]]
    """Chooses places in the oracle, in a thread; ModelError where it cannot be cut. Not called for built caches."""
    runner: Callable[[], Runner]
    """Makes who builds; called once, when the first caches are due."""
    samples: Path
    """The directory of the node's samples."""
    agreement: float
    """What the audit demands."""


class CacheSupply:
    """The caches of one node, for all its streams."""

    def __init__(
        self, engine: Inference, sampled: SampledEngine, oracle: str, source: CacheSource, books: Books
    ) -> None:
        """``sampled``: the engine that the node's recogniser uses, by which samples are taken."""
        self.network: CacheNetwork | None = None
        self._engine, self._oracle, self._source, self._books = engine, oracle, source, books
        self._plan: Sequence[CutPlan] = ()
        self._samples: OwnTaps | None = None
        self._runner: Runner | None = None
        self._building: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._building_s, self._due, self._lost_s = Estimate(BUILDING_S), LEAST_SAMPLES, 0.0
        sampled.wanted, sampled.took, sampled.failed = self._to_sample, self._sampled, self.failed

    async def prepare(self) -> None:
        """Cut the oracle, so that built caches can answer; where that fails it is logged, and the oracle answers."""
        try:
            await self._prepare()
        except SluiceError as error:
            self.failed(error)

    async def _prepare(self) -> None:
        built = self._source.built
        if built is not None:
            self.network = CacheNetwork(self._engine, self._oracle, built.tensors)
            await self.network.prepare()
            self.network.answer_with(built)
            return
        self._plan = await in_thread(self._source.plan)
        if not self._plan:
            log.info("%s: there is no place for a cache", self._oracle)
            return
        self.network = CacheNetwork(self._engine, self._oracle, [cut.tensor for cut in self._plan])
        self._samples = OwnTaps(self._source.samples, len(self._plan))

    def looked(self, answered: int, through: int, cost_s: float) -> None:
        """Note what a turn has cost and spared; caches are withdrawn where they do not pay."""
        oracle_s = self._books.oracle_s
        self._lost_s = max(0.0, self._lost_s + cost_s - (answered + through) * oracle_s)
        if self._lost_s > PATIENCE * oracle_s > 0 and self.network is not None and self.network.version is not None:
            log.info("%s: its caches are left: they cost more than they save", self._oracle)
            self.network.withdraw()
            self._lost_s = 0.0
            self._later()

    def failed(self, error: SluiceError) -> None:
        """The oracle does not run with exits: it answers without caches in this process."""
        log.warning("%s: no caches: %s", self._oracle, error)
        if self.network is not None:
            self.network.withdraw()
        self.network = None

    def barred(self) -> None:
        """The audit of a stream has switched the caches off: those built here give way to caches from more samples."""
        if self._samples is not None and self.network is not None and self.network.version is not None:
            self.network.withdraw()
            self._later()

    def build_where_due(self) -> None:
        """Build caches where there are none, there are enough samples, and it can be paid."""
        samples, network = self._samples, self.network
        if samples is None or network is None or network.version is not None or self._building is not None:
            return
        if samples.taken < self._due or not self._worth_it():
            return
        estimate_s = self._building_s.seconds
        if self._books.purse.reserve(estimate_s):
            self._building = asyncio.create_task(self._build(network, samples, estimate_s))

    async def settled(self) -> None:
        """Return when nothing is being built or opened."""
        for task in (self._building, self._opening):
            if task is not None:
                await asyncio.wait([task])

    async def close(self) -> None:
        """Give up what is being built."""
        for task in (self._building, self._opening):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self._runner is not None:
            await self._runner.close()
        if self._samples is not None:
            self._samples.close()

    def _worth_it(self) -> bool:
        return self._books.oracle_s >= LEAST_ORACLE_S

    def _to_sample(self, items: int) -> str | None:
        """The network to run for these items, if they are to become samples and that can be paid."""
        samples, network = self._samples, self.network
        if samples is None or network is None or network.version is not None or self._building is not None:
            return None
        enough = samples.taken >= self._due or samples.taken >= MOST_SAMPLES
        extra_s = TAPPED * self._books.oracle_s * items
        if enough or not self._worth_it() or not self._books.purse.may_spend(extra_s):
            return None
        if not network.is_open:  # frames do not wait for that
            self._opening = self._opening or asyncio.create_task(self._open(network))
            return None
        self._books.purse.spend("samples", extra_s)
        return network.name

    async def _open(self, network: CacheNetwork) -> None:
        try:
            await network.prepare()
        except SluiceError as error:
            self.failed(error)

    def _sampled(self, found: ExitOutputs) -> None:
        """Keep samples; where they cannot be written there will be no caches, but the looks stand."""
        if self._samples is None:
            return
        try:
            self._samples.add(found)
        except SluiceError as error:
            log.warning("%s: no caches: %s", self._oracle, error)
            self._samples = None

    async def _build(self, network: CacheNetwork, samples: OwnTaps, estimate_s: float) -> None:
        seconds = 0.0
        try:
            self._runner = self._runner or self._source.runner()
            said = await self._runner.run(msgspec.json.encode(self._job(samples)))
            answer = decode(said, CachesAnswer, LARGEST_BYTES)
            seconds = max(answer.processor_s, 0.0)
            built = answer.built()
            await network.prepare()
            network.answer_with(built)
            log.info("%s: caches at %d places begin to prove themselves", self._oracle, len(built.caches))
        except (SluiceError, ValueError) as error:
            log.info("%s: %s", self._oracle, error)
            self._later()
        finally:
            self._books.purse.settle("training", estimate_s, seconds)
            self._building_s.took(seconds or estimate_s)
            self._building = None

    def _later(self) -> None:
        """Try again when there are twice as many samples."""
        taken = self._samples.taken if self._samples is not None else 0
        self._due = 2 * max(taken, LEAST_SAMPLES)

    def _job(self, samples: OwnTaps) -> CachesJob:
        card, oracle_s = self._engine.card(self._oracle), self._books.oracle_s
        cuts = [CutJob(cut.tensor, cut.grid, cut.share * oracle_s, CUT_S) for cut in self._plan]
        return CachesJob(
            store=str(samples.directory),
            model=card.name,
            model_sha256=card.sha256,
            classes=len(card.classes),
            cuts=tuple(cuts),
            whole_s=oracle_s,
            agreement=self._source.agreement,
            architectures=ARCHITECTURES,
            seed=samples.taken,
            independent=INDEPENDENT,
        )
