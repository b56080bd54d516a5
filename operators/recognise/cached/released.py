"""The link whose caches answer early, while the oracle runs on (Dai et al., 2024 [Apparate], §3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.cached.cache_network import CacheNetwork, Run
from operators.recognise.cached.caches import Caches
from operators.recognise.cached.supply import CacheSupply
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.shortcut import Turn
from operators.wire.schema import Attribute
from serving.common.tensors import Array
from serving.engines.exits import ExitOutputs
from serving.errors import SluiceError, TooLate

log = logging.getLogger(__name__)

MOST_RUNS = 64
"""Runs that have not ended though their answers are out; with so many, further answers wait for the end of theirs."""


class ReleasedCaches(Caches):
    """Answers for a frame as soon as caches are sure of all its regions, else the oracle does, for all of them."""

    releases = True

    def __init__(self, recogniser: Classifier, supply: CacheSupply) -> None:
        super().__init__(recogniser, supply)
        self._runs: set[asyncio.Task[Sequence[Attribute]]] = set()
        self._complained = False

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        """See ``Shortcut``; the oracle answers by itself until it is known what that costs."""
        network = self._supply.network
        if network is None or network.version is None or not self._supply.whole_s:
            return Turn((), regions)
        run = await self._run(network, frame, regions, call)
        if run is None:
            return Turn((), regions, declined="the oracle does not run with its caches")
        version = int(run.outputs.version[0])
        if run.rest is None:
            own = self._ended(frame.stream, run.outputs)
            return Turn((), regions, version, finished=list(zip(regions, own, strict=True)))
        for row, region in enumerate(regions):
            region.attributes.append(self._said(run.outputs, row))
        return Turn(regions, (), version, own=self._follow(frame.stream, run.rest))

    async def listen(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn | None:
        return await super().listen(frame, regions, call) if self._supply.whole_s else None

    async def settled(self) -> None:
        """Return when nothing is being made, and no run is under way whose answers are out."""
        if self._runs:
            await asyncio.wait(self._runs)
        await super().settled()

    async def close(self) -> None:
        """Give up what is being made; answers whose runs are under way are not compared."""
        for run in self._runs:
            run.cancel()
        if self._runs:
            await asyncio.wait(self._runs)
        await super().close()

    def _account(self, frame: Frame, turn: Turn) -> None:
        """Note what it cost that answers come early; caches stay though they save nothing, as the query wants them."""
        oracle_s = self._supply.whole_s * (len(turn.answered) + len(turn.rest))
        self._supply.hurried(frame.stream, max(self.cost_s(turn) - oracle_s, 0.0))

    async def _run(self, network: CacheNetwork, frame: Frame, regions: Sequence[Region], call: Call) -> Run | None:
        """Run the network for these regions; None where it fails before it has answered."""
        crops = self._recogniser.crops(self._model, frame, regions)
        try:
            if len(self._runs) < MOST_RUNS:
                return await network.release(crops, call.urgency)
            return Run(await network.run(crops, call.urgency), None)
        except TooLate:
            raise
        except SluiceError as error:
            self._supply.failed(error)
            return None

    def _follow(self, stream: str, rest: asyncio.Future[list[Array]]) -> asyncio.Task[Sequence[Attribute]]:
        """The oracle's own answers, once the run has ended."""
        run = asyncio.create_task(self._own(stream, rest))
        self._runs.add(run)
        run.add_done_callback(self._over)
        return run

    async def _own(self, stream: str, rest: asyncio.Future[list[Array]]) -> Sequence[Attribute]:
        return self._ended(stream, ExitOutputs.of(await rest))

    def _ended(self, stream: str, found: ExitOutputs) -> Sequence[Attribute]:
        """The oracle's own answers; what caches said beside them is noted."""
        self._supply.released(stream, found)
        return self._recogniser.read(self._model, found.scores)

    def _over(self, run: asyncio.Task[Sequence[Attribute]]) -> None:
        """A failure costs the comparison only: the answers are out. The first is logged; the next ones are alike."""
        self._runs.discard(run)
        error = None if run.cancelled() else run.exception()
        if error is not None and not self._complained:
            self._complained = True
            log.warning("%s: what its caches have said early cannot be compared: %s", self._model, error)
