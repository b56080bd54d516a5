"""Ways to have exits on a stream: each is what a query may say, carried out by the node's own operator."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from benchmarks.caches_locality_parts.images import Images
from benchmarks.caches_locality_parts.streams import PHASES, WINDOWS, Pool, Stream
from benchmarks.exit_parts.recorded import RecordedEngine, picture
from benchmarks.harness import Row
from benchmarks.weg_parts.cifar_models import LARGE
from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainer import Trainer
from cache_adapt.adaptation.updates import Update
from cache_adapt.adaptation.window import Sample
from cache_adapt.audit.state import Rule
from cache_adapt.learned import files
from learning.budget import unlimited
from learning.features import numbers
from operators.base import Call
from operators.decision import Decision
from operators.recognise.chain import Chain
from operators.testing import make_frame, make_region, so_far
from operators.wire.schema import Attribute
from pipelines.assembly.environment import Audits, Environment, Learning
from pipelines.assembly.recognise import recognise
from pipelines.assembly.registry import Shortcuts
from pipelines.measure.exit_files import exits_file
from pipelines.query.nodes import RecogniseNode
from serving.catalogue.lookup import Catalogue
from serving.errors import SluiceError
from serving.scheduling.requests import Urgency
from tests.turns import settled

ACCURACY = 0.9
LOOKS = 300
"""Looks of a window: one a second."""
RECORDED = 400
"""Looks of the recording that exits are learnt from before, of the classes of the first phase."""
QUERY, NODE, STREAM = "locality", "kind", "cam"


@dataclass(frozen=True)
class Way:
    """How a node has exits."""

    name: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Those of the node in the query."""
    learnt: bool = False
    """Whether it begins with exits from a recording."""


STATIC = Way("learnt before", {"caches": "auto", "specialize": False}, learnt=True)
ADAPTED = Way("learnt before, made anew", {"caches": True, "specialize": False}, learnt=True)
CACHES = Way("made in service", {"caches": True, "specialize": False})
SPECIALISED = Way("specialised", {"caches": False, "specialize": True})
WAYS = (STATIC, ADAPTED, CACHES, SPECIALISED)


class Maker:
    """Makes exits in the time of the stream, at once: an ``Elsewhere``."""

    def __init__(self) -> None:
        self._adaptation = Adaptation(Trainer(), unlimited())
        self.now_s = 0.0
        self.made = 0
        """Versions so far."""

    def offer(self, subject: Subject, stream: str, labels: Sequence[int], features: NDArray[np.floating[Any]]) -> None:
        """See ``Elsewhere``."""
        samples = [Sample(self.now_s, label, row) for label, row in numbers(labels, features)]
        self._adaptation.add(subject, stream, samples, self.now_s)

    def want(self, target: Target, stream: str) -> None:
        """See ``Elsewhere``."""
        why_not = self._adaptation.wanted(target, self.now_s)
        if why_not is not None:
            raise SluiceError(why_not)

    def newest(self, target: Target) -> Update | None:
        """See ``Elsewhere``."""
        return self._adaptation.newest(target.key)

    async def make(self) -> None:
        """Make what is due."""
        while (due := self._adaptation.next(self.now_s)) is not None:
            made = await self._adaptation.train(due, lambda: self.now_s)
            if made is not None:
                self.made += 1
                self._adaptation.published(due.target.key, made.version, made.data, self.now_s)


class Node:
    """The operator of the query's node, on a network that was recorded."""

    def __init__(self, way: Way, images: Images) -> None:
        entry = images.cifar.entry
        self.engine, self.maker = RecordedEngine(entry.card, images.recorded), Maker()
        learning = Learning(Catalogue([entry.path.parents[1]]), _nobody, self.maker)
        audits = Audits(Shortcuts(QUERY), Rule(ACCURACY), learning, unlimited())
        spec = RecogniseNode(name=NODE, task="recognise", input="detect", model=(LARGE,), answer="look", **way.keys)
        operator = recognise(spec, Environment(self.engine, audits))
        assert isinstance(operator, Chain)
        self._chain, self._seq = operator, 0

    async def prepare(self) -> None:
        """Make it ready."""
        await self._chain.prepare()

    async def look(self, number: int) -> Attribute:
        """The next second: the node's answer for an image."""
        frame = make_frame(self._seq, float(self._seq), picture(number), STREAM)
        region = make_region(0.0, 0.0, 1.0, 1.0)
        self._seq += 1
        self.maker.now_s += 1
        await self._chain.process(frame, [region], Call(Decision(None), Urgency(math.inf)))
        self._chain.published(so_far(STREAM))
        await self.maker.make()
        await settled()
        return region.attributes[-1]

    @property
    def phase(self) -> str:
        """The phase of the audits of exits, one after the other."""
        return " ".join(plan.phase for plan in self._chain.plans().get(STREAM, []))


def _nobody() -> Any:
    raise AssertionError("another maker is given")


def follow(stream: Stream, way: Way, images: Images) -> Iterator[Row]:
    """A row for each window of a stream."""
    pool = Pool(images.labels, default_rng(2))
    recording = pool.draw(stream.shares(0), RECORDED)
    file = exits_file(images.cifar.entry, QUERY, NODE)
    file.unlink(missing_ok=True)
    if way.learnt:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, images.fitted(recording, ACCURACY))
    with asyncio.Runner() as runner:
        runner.run(_none())
        node = Node(way, images)
        runner.run(node.prepare())
        for window in range(PHASES * WINDOWS):
            numbers = pool.draw(stream.shares(window), LOOKS)
            before_s = node.engine.spent_s
            given = [runner.run(node.look(number)) for number in numbers]
            spent_s = node.engine.spent_s - before_s
            where = {"stream": stream.name, "way": way.name, "window": window}
            made = {"made": node.maker.made, "phase": node.phase}
            yield {**where, **_counted(given, numbers, images, spent_s), **made}


async def _none() -> None:
    """Has the runner make its loop."""


def _counted(given: list[Attribute], numbers: list[int], images: Images, spent_s: float) -> Row:
    names = images.cifar.entry.card.classes
    by_exit = [each.provenance in ("cached", "specialised") for each in given]
    right = [each.label == names[images.rows.words[number]] for each, number in zip(given, numbers, strict=True)]
    whole_s = images.recorded.whole_s * len(numbers)
    return {
        "looks": len(numbers),
        "answered": sum(by_exit),
        "right": sum(exit_ and agrees for exit_, agrees in zip(by_exit, right, strict=True)),
        "agreement": round(sum(right) / len(right), 4),
        "processor_ms": round(1e3 * spent_s, 2),
        "whole_ms": round(1e3 * whole_s, 2),
        "speedup": round(whole_s / spent_s, 3),
    }
