"""A node with a shortcut, objects that pass it, and the answers that a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from cache_adapt.audit.state import AuditState, Rule
from learning.budget import Budget, unlimited
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.objects import Objects
from operators.recognise.variants import VariantShortcut
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, so_far
from operators.wire.adaptation import Disagreement
from operators.wire.schema import NodePlan
from serving.scheduling.requests import Urgency
from tests.pipelines.run.recording import Recording
from tests.turns import turns

WORDS = ("blue", "green", "red")
FPS = 10
EVERY = Rule(0.9, probation_rate=1.0)
"""Audits every object of a shortcut on probation."""


def served() -> AuditState:
    """What is known of a shortcut that answers."""
    return AuditState(phase="probation")


class Street:
    """Objects pass one after the other; ``small`` and ``big`` say what a dict says of the object's shade, else blue."""

    def __init__(
        self,
        rule: Rule | None = None,
        per_track: bool = True,
        known: AuditState | None = None,
        budget: Budget | None = None,
        **more: float,
    ) -> None:
        """``known``: of the shortcut already; ``more``: options of the recogniser."""
        self.small: dict[int, str] = {}
        self.big: dict[int, str] = {}
        self.sure = {"small": 9.0, "big": 9.0}
        self.heard = Recording()
        self.background = asyncio.Event()
        self.background.set()
        self.engine = FakeEngine(
            small=(card_of("small", tier="compact"), lambda batch: [self._say("small", self.small, batch)]),
            big=(card_of("big"), lambda batch: [self._say("big", self.big, batch)]),
        )
        infer = self.engine.infer

        async def gated(model: str, batch: np.ndarray, urgency: Urgency, policy: None = None) -> list[np.ndarray]:
            if urgency.background:
                await self.background.wait()
            return await infer(model, batch, urgency, policy)

        self.engine.infer = gated  # type: ignore[assignment, method-assign]
        recogniser = Classifier(self.engine, Roles.of(["small", "big"], self.engine.card), "paint", **more)
        networks = ChainNetworks(recogniser, UnitCosts(self.engine), [VariantShortcut(recogniser, "small")])
        terms = ChainTerms(rule or Rule(0.9), budget or unlimited(), observer=self.heard)
        self.node = Chain("type", networks, terms, Objects(recogniser) if per_track else None)
        if known:
            audits = {"variant small": known}
            self.node.restore("cam", NodeSnapshot(oracle=recogniser.roles.identity, audits=audits).to_json())
        self.seq = 0

    def _say(self, model: str, words: dict[int, str], batch: np.ndarray) -> np.ndarray:
        """By how bright the crop is; else blue."""
        said = [words.get(round(float(crop.mean()) / 10), "blue") for crop in batch]
        return np.array([[self.sure[model] * (word == name) for name in WORDS] for word in said])

    async def frame(
        self, tracks: Sequence[int | None], shade: int = 0, run: str = "run-1", x: float = 0.3
    ) -> list[Region]:
        """One frame whose result is sent; the background has its turn."""
        regions = [make_region(x, 0.2 + 0.2 * place, id=place, track_id=track) for place, track in enumerate(tracks)]
        picture = np.full((100, 100, 3), shade * 10, np.uint8)
        frame = make_frame(self.seq, self.seq / FPS, picture, run=run)
        await self.node.process(frame, regions, call("small", 7.0))
        self.node.published(so_far())
        await turns()
        self.seq += 1
        return regions

    async def pass_by(self, track: int, shade: int = 0, frames: int = 15) -> str:
        """One object from its first to its last frame; what was published of it last."""
        for _ in range(frames):
            (region,) = await self.frame([track], shade)
        return region.attributes[0].label

    async def empty(self, seconds: float = 12.0) -> None:
        """Nothing is to be seen, for so long that every track is over."""
        for _ in range(round(seconds * FPS)):
            await self.frame([])

    def asked(self, model: str, background: bool) -> int:
        """How often a model has looked."""
        return sum(
            len(batch)
            for name, batch, deadline in self.engine.asked
            if name == model and (deadline != 7.0) == background
        )

    def disagreements(self) -> list[Disagreement]:
        """What was heard of them, each with the picture of its object."""
        calls = self.heard.calls["audit_disagreed"]
        for found, picture in calls:
            assert picture.mean() == 30
            assert (found.shortcut.models, found.shortcut.found[0].label) == (["small"], "red")
            assert (found.oracle.models, found.oracle.found[0].label) == (["big"], "blue")
        assert len(calls) == sum(not agrees for *_, agrees in self.heard.calls["audit_done"])
        return [found for found, _ in calls]

    @property
    def plan(self) -> NodePlan:
        (plan,) = self.node.plans(gone=True)["cam"]
        return plan
