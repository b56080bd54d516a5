"""A world of grey boxes: eight shades are eight classes, an oracle tells them apart, and so do features."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from cache_adapt.adaptation.elsewhere import AwaitedElsewhere
from cache_adapt.audit.state import AuditState, Rule
from learning.purse import Purse
from learning.store import FeatureStore, write_store
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.frames.frame import Region
from operators.observer import Observer, Observers
from operators.recognise.account.books import Books
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.labels import Labels
from operators.recognise.objects.objects import Objects
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.recognise.specialised.cascade import Cascade
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.heads import Heads
from operators.recognise.specialised.made_elsewhere import HeadsMadeElsewhere
from operators.recognise.specialised.makers import HeadsMadeHere
from operators.recognise.specialised.own_samples import NodeSamples
from operators.recognise.terms import ChainTerms, Listeners
from operators.testing import FakeEngine, call, card_of, make_frame, make_region
from operators.wire.schema import NodePlan, ShortcutKind
from specialization.rates import MeasuredRates, Rates
from specialization.templates.stored import StoredTemplate, TemplateManifest
from specialization.trainer.trainer import Specializer

SHADES = tuple(f"shade-{number}" for number in range(8))
STEP = 30
RATES = {1: Rates(0.97, 0.02, 0.99), 5: Rates(0.95, 0.04, 0.98)}


def shades_of(batch: np.ndarray) -> np.ndarray:
    """The class of every picture of a batch."""
    return np.rint(batch.reshape(len(batch), -1).mean(axis=1) / STEP).astype(int)


def one_hot(shades: Sequence[int] | np.ndarray) -> np.ndarray:
    """A row for each; 8, which is no shade, looks like 6 and 7 together."""
    rows = np.eye(len(SHADES) + 1, len(SHADES), dtype=np.float32)
    rows[8, 6:] = 1
    return rows[np.asarray(shades)]


def template(directory: Path, store: bool = True) -> StoredTemplate:
    """A template whose store holds every class forty times, a little blurred."""
    if store:
        rng = np.random.default_rng(1)
        labels = np.tile(np.arange(len(SHADES)), 40)
        write_store(directory, one_hot(labels) * 4 + rng.normal(0, 0.1, (len(labels), len(SHADES))), labels)
    measured = (MeasuredRates(0.005, RATES),)
    manifest = TemplateManifest("big", "0" * 64, "tiny", "1" * 64, SHADES, 0.1, "multiply-adds", measured)
    return StoredTemplate("tiny", directory, SHADES, manifest, store)


class TrainedHeads(Observer):
    """What was said of heads that were trained."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, tuple[str, ...], bool]] = []

    def head_trained(self, stream: str, node: str, classes: tuple[str, ...], used: bool) -> None:
        """See ``Observer``."""
        self.heard.append((stream, node, classes, used))


class Scene:
    """A node with the oracle ``big`` that specialises; ``wrong`` maps shades to what the features pretend to see."""

    def __init__(
        self,
        directory: Path,
        trainer: Specializer,
        rule: Rule | None = None,
        store: bool = True,
        specialize: bool = True,
        variant: bool = False,
        per_track: bool = False,
        purse: Purse | None = None,
        nameless: Sequence[str] = (),
        elsewhere: AwaitedElsewhere | None = None,
        early: bool = False,
    ) -> None:
        """``variant``: the node lists ``small`` too, and the plan names it; ``per_track``: it answers for tracks.

        Without a ``purse`` money is no object; ``elsewhere`` trains in place of the trainer. ``early``: the compact
        network ``tiny`` is the first layers of ``big``.
        """
        self.early = ["tiny"] if early else []
        self.purse, self.nameless, self.elsewhere = purse, nameless, elsewhere
        self.wrong: dict[int, int] = {}
        self.engine = FakeEngine(
            big=(card_of("big", classes=list(SHADES)), self._shades),
            small=(card_of("small", classes=list(SHADES), tier="compact"), self._shades),
            tiny=(card_of("tiny", task="embed", classes=[]), self._features),
        )
        self.engine.costs_s = {"big": 0.02, "small": 0.005, "tiny": 0.0015}
        self.engine.costs_s |= {"tiny+half": 0.0015, "big+half": 0.0187}
        self.model = "small" if variant else "big"
        roles = Roles.of(["small", "big"] if variant else ["big"], self.engine.card)
        recogniser = Classifier(self.engine, roles, "shade")
        rule = rule or Rule(0.9)
        self.changed: list[str] = []
        self.samples_at = directory / "samples"
        self.supply = self._supply(recogniser, template(directory / "tiny", store), trainer, rule)
        self.trained = TrainedHeads()
        observers = Observers([self.trained])
        self.heads = Heads("type", recogniser, self.supply, Listeners(self.changed.append, observers), per_track)
        links: list[Shortcut] = [self.heads] if specialize else []
        links += [VariantShortcut(recogniser, *recogniser.roles.shortcuts, self.supply.books.costs)] if variant else []
        self.oracle = Oracle(recogniser)
        objects = Objects(recogniser) if per_track else None
        terms = ChainTerms(rule, Listeners(self.changed.append), self.supply.books)
        self.node = Chain("type", links, self.oracle, terms, objects)
        self.seq = 0
        self.leaves = True
        """Whether results are complete before the next frame comes."""

    def _supply(self, recogniser: Classifier, made: StoredTemplate, trainer: Specializer, rule: Rule) -> HeadSupply:
        labels = Labels(recogniser.labels("big"), self.nameless)
        features = Features(self.engine, recogniser, {"tiny": 0.1}, early=self.early)
        maker = HeadsMadeElsewhere(self.elsewhere, "type", features, labels, patience_s=5.0) if self.elsewhere else None
        samples = NodeSamples(self.samples_at, [made], features, labels, maker.sample if maker else None)
        books = Books("big", features.costs, self.purse)
        return HeadSupply(samples, maker or HeadsMadeHere(trainer, samples), rule, books)

    def _shades(self, batch: np.ndarray) -> list[np.ndarray]:
        return [one_hot(shades_of(batch)) * 9]

    def _features(self, batch: np.ndarray) -> list[np.ndarray]:
        return [one_hot([self.wrong.get(shade, shade) for shade in shades_of(batch)]) * 4]

    async def frame(
        self,
        *shades: int,
        stream: str = "cam",
        run: str = "run-1",
        tracks: Sequence[int] = (),
        at_s: float | None = None,
    ) -> list[Region]:
        """The next frame, a box of each of these shades; its result leaves, and the background has its turn."""
        picture = np.zeros((100, 800, 3), np.uint8)
        for place, shade in enumerate(shades):
            picture[:, place * 100 : (place + 1) * 100] = shade * STEP
        regions = [make_region(x=place / 8, y=0, w=1 / 8, h=1, id=place) for place in range(len(shades))]
        for region, track in zip(regions, tracks, strict=False):
            region.track_id = track
        frame = make_frame(self.seq, self.seq / 10 if at_s is None else at_s, picture, stream, run)
        await self.node.process(frame, regions, call(self.model, 7.0))
        if self.leaves:
            self.node.published(frame.header.id)
        for _ in range(8):
            await asyncio.sleep(0)
        self.seq += 1
        return regions

    async def show(self, shades: Sequence[int], stream: str = "cam") -> list[Region]:
        """One frame for each shade."""
        return [region for shade in shades for region in await self.frame(shade, stream=stream)]

    async def specialised(self, shades: Sequence[int] = (1, 2), stream: str = "cam", most: int = 400) -> None:
        """Show these in turn until a head answers."""
        for number in range(most):
            await self.frame(shades[number % len(shades)], stream=stream)
            await self.heads.settled()
            if used := self.cascade(stream).in_use:
                self.serve("specialised", used.number, stream)
                return
        raise AssertionError(f"no head after {most} objects")

    def serve(self, kind: ShortcutKind, edition: int = 0, stream: str = "cam") -> None:
        """Let a shortcut answer, on probation, as if it had proven itself."""
        known = msgspec.json.decode(self.node.snapshot(stream) or NodeSnapshot().to_json(), type=NodeSnapshot)
        known.audits[kind] = AuditState(phase="probation", edition=edition)
        self.node.restore(stream, known.to_json())

    def cascade(self, stream: str = "cam") -> Cascade:
        return self.heads.cascade(stream)

    def samples(self) -> dict[int, int]:
        """How many the node has taken of each shade."""
        return dict(Counter(FeatureStore.open(self.samples_at / "tiny").labels.tolist()))

    def plan(self, kind: ShortcutKind = "specialised", stream: str = "cam") -> NodePlan:
        return next(plan for plan in self.node.plans(gone=True)[stream] if plan.kind == kind)


def said(regions: Sequence[Region]) -> list[tuple[str, str]]:
    """Label and provenance of every region's answer."""
    return [(region.attributes[0].label, region.attributes[0].provenance) for region in regions]
