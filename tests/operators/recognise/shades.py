"""A world of grey boxes: eight shades are eight classes, an oracle tells them apart, and so do features."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cache_adapt.audit_state import Rule
from operators.base import Call
from operators.frame import Region
from operators.recognise.auditor import Auditor
from operators.recognise.cascade import Cascade
from operators.recognise.classifier import Classifier
from operators.recognise.specialised import Specialised
from operators.recognise.workshop import Workshop
from operators.schema import NodePlan, ShortcutKind
from serving.urgency import Urgency
from specialization.accuracy_estimate import Rates
from specialization.feature_store import SampleRing, write_store
from specialization.specializer import Specializer
from specialization.templates import Manifest, Measured, StoredTemplate
from tests.operators.inference import FakeEngine, card_of
from tests.operators.support import make_frame, make_region

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
    measured = (Measured(0.005, RATES),)
    manifest = Manifest("big", "0" * 64, "tiny", "1" * 64, SHADES, 0.1, "multiply-adds", measured)
    return StoredTemplate("tiny", directory, SHADES, manifest, store)


class Scene:
    """A node with the oracle ``big`` that specialises; ``wrong`` maps shades to what the features pretend to see."""

    def __init__(
        self,
        directory: Path,
        specializer: Specializer,
        rule: Rule | None = None,
        reuse_s: float = 0.0,
        store: bool = True,
        specialize: bool = True,
    ) -> None:
        self.wrong: dict[int, int] = {}
        self.engine = FakeEngine(
            big=(card_of("big", classes=list(SHADES)), lambda batch: [one_hot(shades_of(batch)) * 9]),
            tiny=(card_of("tiny", task="embed", classes=[]), self._features),
        )
        recogniser = Classifier(self.engine, ["big"], "shade")
        rule = rule or Rule(0.9)
        self.workshop = (
            Workshop(
                self.engine,
                recogniser,
                "big",
                [template(directory / "tiny", store)],
                specializer,
                rule,
                directory / "samples",
            )
            if specialize
            else None
        )
        if self.workshop:
            self.workshop.costs["tiny"] = 0.1
        kinds: dict[ShortcutKind, Sequence[str]] = {"specialised": ["tiny"]} if specialize else {}
        if reuse_s:
            kinds["reused"] = ["tracks"]
        self.changed: list[str] = []
        auditor = Auditor("type", recogniser, "big", kinds, rule, self.changed.append)
        self.node = Specialised(recogniser, auditor, self.workshop, reuse_s)
        self.seq = 0
        self.leaves = True
        """Whether results are complete before the next frame comes."""

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
        await self.node.process(frame, regions, Call("big", Urgency(7.0)))
        if self.leaves:
            self.node.left(stream)
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
            await self.trained(stream)
            if self.cascade(stream).in_use:
                return
        raise AssertionError(f"no head after {most} objects")

    async def trained(self, stream: str = "cam") -> None:
        """Whatever is being trained or measured has come to an end."""
        assert self.workshop
        while jobs := [*self.cascade(stream)._jobs.values(), *self.workshop._profiling.values()]:
            await asyncio.wait(jobs)

    def cascade(self, stream: str = "cam") -> Cascade:
        cascade = self.node._streams[stream].cascade
        assert cascade
        return cascade

    def samples(self) -> dict[int, int]:
        """How many the node has taken of each shade."""
        assert self.workshop
        return dict(SampleRing(self.workshop._samples["tiny"].directory, len(SHADES)).counts())

    def plan(self, kind: ShortcutKind = "specialised", stream: str = "cam") -> NodePlan:
        return next(plan for plan in self.node.plans(gone=True)[stream] if plan.kind == kind)


def said(regions: Sequence[Region]) -> list[tuple[str, str]]:
    """Label and provenance of every region's answer."""
    return [(region.attributes[0].label, region.attributes[0].provenance) for region in regions]
