"""The looks that a folder of pictures gives, each of which shows one object, such as the crops of a camera."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from cache_adapt.learned.pooled import ShownLooks
from operators.capture.sources.images import is_image, natural_order
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from pipelines.assembly.engine import engine_of
from pipelines.measure.stand_ins.shown import LEARNT, Watched
from pipelines.query.dag import CompiledQuery
from pipelines.run.learn.learnable import LearnableNode
from pipelines.run.learn.recording import OnProgress, RecordedLooks, taker
from serving.common.tensors import Image
from serving.errors import BadInput, SourceError
from serving.scheduling.requests import Urgency

log = logging.getLogger(__name__)

AT_ONCE = 8
UNHURRIED = Urgency(math.inf)


async def pictured(
    wanted: CompiledQuery, nodes: Sequence[LearnableNode], models: Sequence[str], folder: Path, report: OnProgress
) -> RecordedLooks:
    """Have the oracle of every node look at all pictures of a folder; BadInput where there are none.

    ``models``: those that may have stand-ins.
    """
    shown = PictureFolder(folder)
    engine = engine_of(wanted)
    watched = Watched(engine, models, random.Random(0), LEARNT)
    await engine.start()
    takers = {each.spec.name: taker(each, watched, pools=False) for each in nodes}
    seen = 0
    try:
        for pictures in _together(iter(shown)):
            report("pictures", min(seen / len(shown), 1.0))
            # Neighbours may show the same object: what is not known counts as another.
            names = [f"picture {seen + place}" for place in range(len(pictures))]
            for each in takers.values():
                await each.take(pictures, ShownLooks.of(names), UNHURRIED)
            seen += len(pictures)
    finally:
        await engine.stop()
    return RecordedLooks(seen, {name: each.taken for name, each in takers.items()}, watched.uses)


def _together(pictures: Iterator[Image]) -> Iterator[list[Image]]:
    while some := list(islice(pictures, AT_ONCE)):
        yield some


MOST = 20_000
TURNS = 60


class PictureFolder:
    """Pictures to be read one after the other; neighbours may show the same object."""

    def __init__(self, folder: Path) -> None:
        """At most ``MOST`` of them; BadInput where there are none."""
        if not folder.is_dir():
            raise BadInput(f"--data {folder}: no such folder")
        self.paths = _thinned(
            _in_turns(sorted(filter(is_image, folder.rglob("*")), key=lambda path: (path.parent, natural_order(path))))
        )
        if not self.paths:
            raise BadInput(f"--data {folder}: no pictures in it or in the folders below")

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Image]:
        for path in self.paths:
            try:
                (picture,) = open_source(SourceUri(str(path)), Sampling(), None).pictures()
            except SourceError as error:
                log.warning("%s", error)
            else:
                yield picture.image


def _in_turns(paths: Sequence[Path]) -> Sequence[Path]:
    """In ``TURNS`` parts, each with a run of neighbours of every folder: folders may be classes."""
    folders = [list(some) for _, some in groupby(paths, key=lambda path: path.parent)]
    return [
        path
        for turn in range(TURNS)
        for some in folders
        for path in some[len(some) * turn // TURNS : len(some) * (turn + 1) // TURNS]
    ]


def _thinned(paths: Sequence[Path]) -> Sequence[Path]:
    """Choose from all parts, in their order."""
    if len(paths) <= MOST:
        return paths
    return [paths[index] for index in np.linspace(0, len(paths) - 1, MOST).astype(int)]
