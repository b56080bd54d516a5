"""A recognise node whose looks are taken: its oracle, cut where exits are tried, looks at every object that is due."""

from __future__ import annotations

from collections.abc import Sequence

from operators.base import Call
from operators.frames.frame import Frame, Region, make_image
from operators.inference import Inference, prepared
from operators.recognise.classifier import Classifier, probabilities
from operators.recognise.objects.objects import Objects
from pipelines.run.learn.learnable import LearnableNode
from pipelines.run.learn.taken import TakenLooks
from serving.engines.exits import ExitResult


class TakesLooks:
    """Operator: looks as the node's own operator does without exits and other networks."""

    def __init__(self, node: LearnableNode, recogniser: Classifier, engine: Inference) -> None:
        self.taken = TakenLooks(node.vocabulary)
        self._node, self._recogniser, self._engine = node, recogniser, engine
        self._network = engine.add_cuts(node.oracle, [cut.tensor for cut in node.cuts])
        self._objects = Objects(recogniser) if node.spec.answer == "track" else None

    async def prepare(self) -> None:
        """Load the cut network; ModelError where it cannot be cut."""
        await self._engine.load(self._network)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Append one attribute to every region; makes no regions."""
        if self._objects is None:
            await self._look(frame, regions, call)
            self._recogniser.accept(regions)
        else:
            due, _ = self._objects.due(frame, regions)
            await self._look(frame, due, call)
            self._objects.answer(frame, regions, due)
        return []

    def forget(self, stream: str) -> None:
        """Drop the objects of a stream."""
        if self._objects is not None:
            self._objects.forget(stream)

    async def _look(self, frame: Frame, regions: Sequence[Region], call: Call) -> None:
        if not regions:
            return
        await make_image(frame)
        oracle = self._node.oracle
        crops = self._recogniser.crops(oracle, frame, regions)
        batch, _ = await prepared(self._engine.card(oracle).input, crops)
        found = ExitResult.of(await self._engine.infer(self._network, batch, call.urgency))
        shares = probabilities(self._engine.card(oracle), found.scores)
        self.taken.add(batch, found, shares, [_whom(frame, region) for region in regions])
        for region, look in zip(regions, await self._recogniser.said(oracle, found.scores), strict=True):
            region.attributes.append(look)


def _whom(frame: Frame, region: Region) -> str:
    """The object: its track; without one each look is at another."""
    of = f"{frame.stream} {frame.run}"
    return f"{of} track {region.track_id}" if region.track_id is not None else f"{of} {frame.seq} {region.id}"
