"""A world of painted boxes: an oracle names their colour, and a cache inside it names what is clearly of one colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.caches.job import CachesAnswer
from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.predictor import Predictor
from cache_adapt.caches.store import BuiltCaches, Card, cards
from learning.purse import Purse, unlimited
from operators.audits.roles import Roles
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Frame, Region
from operators.recognise.account.books import Books
from operators.recognise.cached.building import CutPlace
from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.caches import Caches
from operators.recognise.cached.released import ReleasedCaches
from operators.recognise.cached.sampled_engine import EVERY, SampledEngine
from operators.recognise.cached.supply import CacheSupply
from operators.recognise.cached.validation import ValidationSet, read, write
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.oracle import Oracle
from operators.testing import FakeEngine, call, card_of, make_frame, make_region
from operators.testing.engine import COLOURS
from serving.common.clock import SYSTEM, Clock

ORACLE_CARD = card_of("oracle", version="7")
CUTS = ("early", "late")
GRID = (3, 1, 1)
BLUE, GREEN, RED, MURKY = (200, 0, 0), (0, 200, 0), (0, 0, 200), (110, 100, 0)


def built(agreement: float = 0.97, threshold: float = 0.1, cuts: Sequence[str] = CUTS) -> BuiltCaches:
    """The first cache is sure of pure colours; the second one never is."""
    weights = (np.eye(3, dtype=np.float32) * 0.01, np.zeros(3, np.float32))
    limits = [threshold, *[0.0] * (len(cuts) - 1)]
    made = tuple(
        LearnedCache(cut, Predictor("Pool(3)", GRID, None, weights), None, limit)
        for cut, limit in zip(cuts, limits, strict=True)
    )
    of_caches = cards(made, [0.5] * len(cuts))
    card = Card("sluice.caches/1", "oracle", ORACLE_CARD.identity, 3, agreement, "answers", 500, 1.5, of_caches)
    return BuiltCaches(card, made)


class Builder:
    """Answers every job with the same caches, or with an error; notes the jobs."""

    def __init__(self, answer: CachesAnswer) -> None:
        self._answer, self.jobs, self.closed = answer, list[bytes](), False

    async def run(self, job: bytes) -> bytes:
        self.jobs.append(job)
        return msgspec.json.encode(self._answer)

    async def close(self) -> None:
        self.closed = True


def named(batch: np.ndarray) -> list[np.ndarray]:
    """The oracle: logits are the means of the channels."""
    return [batch.reshape(len(batch), 3, -1).mean(axis=2).astype(np.float32)]


class World:
    """One node."""

    def __init__(
        self,
        directory: Path,
        caches: BuiltCaches | None,
        builder: Builder | None = None,
        purse: Callable[[], Purse] = unlimited,
        elsewhere: Elsewhere | None = None,
        clock: Clock = SYSTEM,
        every: int = EVERY,
        validation: ValidationSet | None = None,
        releases: bool = False,
    ) -> None:
        early = card_of("tiny", task="embed", classes=[]), named
        self.engine = FakeEngine(oracle=(ORACLE_CARD, named), tiny=early)
        exits_s = 0.011 if releases else 0.006
        self.engine.costs_s = {"oracle": 0.010, "oracle+exits": exits_s, "oracle+half": 0.005}
        self.sampled = SampledEngine(self.engine, "oracle", every)
        self.recogniser = Classifier(self.sampled, Roles.of(["oracle"], self.engine.card), "paint")
        self.books = Books("oracle", UnitCosts(self.engine), purse())
        self.builder = builder or Builder(CachesAnswer(error="no caches pay"))
        plan = [CutPlace("early", GRID, 0.3), CutPlace("late", GRID, 0.7)]
        source = CacheSource(caches, lambda: plan, lambda: self.builder, directory / "samples", 0.97)
        source = replace(source, node="paint", elsewhere=elsewhere, clock=clock)
        source = replace(source, validation=validation, releases=releases)
        self.supply = CacheSupply(self.engine, self.sampled, self.recogniser, source, self.books)
        kind = ReleasedCaches if releases else Caches
        self.caches, self.oracle = kind(self.recogniser, self.supply), Oracle(self.recogniser)


def validation_set(directory: Path, count: int = 90) -> ValidationSet:
    """Pure colours, at the places of ``World``."""
    answers = np.arange(count) % 3
    taps = [200 * np.eye(3, dtype=np.float32)[answers]] * 2
    write(directory, ORACLE_CARD, [CutPlace(cut, GRID, 0.5) for cut in CUTS], taps, answers)
    found = read(directory, ORACLE_CARD)
    assert found is not None
    return found


def scene(*colours: tuple[int, int, int], seq: int = 0) -> tuple[Frame, list[Region]]:
    """A frame with a box of each colour, side by side."""
    picture = np.zeros((20, 20 * len(colours), 3), np.uint8)
    regions = []
    for place, colour in enumerate(colours):
        picture[:, 20 * place : 20 * (place + 1)] = colour
        width = 1 / len(colours)
        regions.append(make_region((place + 0.1) * width, 0.1, 0.8 * width, 0.8, id=place, track_id=place))
    return make_frame(seq, seq / 10, picture), regions


async def ready(world: World) -> World:
    """With its networks open."""
    await world.recogniser.prepare()
    await world.caches.prepare()
    return world


async def looked(world: World, frames: int, stream: str = "cam") -> None:
    """Show frames of twenty boxes, one after the other."""
    for seq in range(frames):
        frame, regions = scene(*[BLUE, MURKY, RED, GREEN] * 5, seq=seq)
        frame = replace(frame, header=msgspec.structs.replace(frame.header, stream=stream))
        turn = await world.caches.answer(frame, regions, call("oracle"))
        for region, look in turn.finished:
            region.attributes.append(look)
        await world.oracle.answer(frame, [each for each in turn.rest if not turn.finished], call("oracle"))
        world.caches.learned(frame, turn)
        await world.caches.settled()


def word(region: Region) -> tuple[str, str]:
    """What was said last of a region, and by whom."""
    return region.attributes[-1].label, region.attributes[-1].provenance


assert COLOURS == ("blue", "green", "red")
