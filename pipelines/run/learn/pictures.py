"""The looks that a folder of pictures gives, each of which shows one object, such as the crops of a camera."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from operators.inference import Inference, prepared
from operators.recognise.classifier import probabilities
from pipelines.assembly.engine import engine_of
from pipelines.query.compiled import CompiledQuery
from pipelines.run.learn.learnable import LearnableNode
from pipelines.run.learn.picture_folder import PictureFolder
from pipelines.run.learn.recording import OnProgress, RecordedLooks
from pipelines.run.learn.taken import TakenLooks
from serving.common.tensors import Image
from serving.engines.exits import ExitResult
from serving.scheduling.requests import BACKGROUND

AT_ONCE = 8


def pictured(wanted: CompiledQuery, nodes: Sequence[LearnableNode], folder: Path, report: OnProgress) -> RecordedLooks:
    """Have the oracle of every node look at all pictures of a folder; BadInput where there are none."""
    return asyncio.run(_pictured(wanted, nodes, PictureFolder(folder), report))


async def _pictured(
    wanted: CompiledQuery, nodes: Sequence[LearnableNode], shown: PictureFolder, report: OnProgress
) -> RecordedLooks:
    engine = engine_of(wanted)
    await engine.start()
    taken = {each.spec.name: TakenLooks(each.vocabulary) for each in nodes}
    try:
        for number, pictures in enumerate(_together(iter(shown))):
            report("pictures", min(number * AT_ONCE / len(shown), 1.0))
            for each in nodes:
                await _look(each, engine, pictures, taken[each.spec.name])
    finally:
        await engine.stop()
    return RecordedLooks(max((each.seen for each in taken.values()), default=0), taken)


async def _look(node: LearnableNode, engine: Inference, pictures: Sequence[Image], taken: TakenLooks) -> None:
    """Neighbours may show the same object: what is not known counts as another."""
    network = engine.add_cuts(node.oracle, [cut.tensor for cut in node.cuts])
    batch, _ = await prepared(node.entry.card.input, pictures)
    found = ExitResult.of(await engine.infer(network, batch, BACKGROUND))
    shares = probabilities(node.entry.card, found.scores)
    taken.add(batch, found, shares, [f"picture {taken.seen + place}" for place in range(len(pictures))])


def _together(pictures: Iterator[Image]) -> Iterator[list[Image]]:
    while some := list(islice(pictures, AT_ONCE)):
        yield some
