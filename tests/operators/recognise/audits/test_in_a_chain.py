"""Audits of a node that answers for tracks: a shortcut proves itself unseen, and is looked after when it answers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import numpy as np
import pytest

from cache_adapt.audit.state import AuditState, Rule
from operators import background as backlog
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.frames.frame import Region
from operators.recognise.audits import shadow
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.objects import Objects
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.recognise.terms import ChainTerms, Listeners
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, so_far
from operators.wire.adaptation import Disagreement
from operators.wire.schema import NodePlan
from serving.scheduling.requests import Urgency
from tests.pipelines.run.recording import Recording

WORDS = ("blue", "green", "red")
FPS = 10


class Street:
    """Objects pass one after the other; ``small`` and ``big`` say what a dict says of the object's shade, else blue."""

    def __init__(self, rule: Rule | None = None, per_track: bool = True, served: AuditState | None = None) -> None:
        """``served``: what is known of the shortcut already."""
        self.small: dict[int, str] = {}
        self.big: dict[int, str] = {}
        self.sure = 9.0
        self.heard = Recording()
        self.background = asyncio.Event()
        self.background.set()
        self.engine = FakeEngine(
            small=(card_of("small", tier="compact"), lambda batch: [self._say(self.small, batch)]),
            big=(card_of("big"), lambda batch: [self._say(self.big, batch)]),
        )
        infer = self.engine.infer

        async def gated(model: str, batch: np.ndarray, urgency: Urgency) -> list[np.ndarray]:
            if urgency.background:
                await self.background.wait()
            return await infer(model, batch, urgency)

        self.engine.infer = gated  # type: ignore[method-assign]
        recogniser = Classifier(self.engine, Roles.of(["small", "big"], self.engine.card), "paint")
        objects = Objects(recogniser) if per_track else None
        self.node = Chain(
            "type",
            [VariantShortcut(recogniser, *recogniser.roles.shortcuts)],
            Oracle(recogniser),
            ChainTerms(rule or Rule(0.9), Listeners(observer=self.heard)),
            objects,
        )
        if served:
            self.node.restore("cam", NodeSnapshot(audits={"variant": served}).to_json())
        self.seq = 0

    def _say(self, words: dict[int, str], batch: np.ndarray) -> np.ndarray:
        """By how bright the crop is; else blue."""
        said = [words.get(round(float(crop.mean()) / 10), "blue") for crop in batch]
        return np.array([[self.sure * (word == name) for name in WORDS] for word in said])

    async def frame(
        self, tracks: Sequence[int | None], shade: int = 0, run: str = "run-1", x: float = 0.3
    ) -> list[Region]:
        """One frame whose result is sent; the background has its turn."""
        regions = [make_region(x, 0.2 + 0.2 * place, id=place, track_id=track) for place, track in enumerate(tracks)]
        picture = np.full((100, 100, 3), shade * 10, np.uint8)
        frame = make_frame(self.seq, self.seq / FPS, picture, run=run)
        await self.node.process(frame, regions, call("small", 7.0))
        self.node.published(so_far())
        for _ in range(20):
            await asyncio.sleep(0)
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


async def test_in_the_shadow_the_oracle_answers_and_the_shortcut_looks_unseen() -> None:
    street = Street()
    (region,) = await street.frame([7])
    assert (region.attributes[0].provenance, region.attributes[0].looked) == ("track", "oracle")
    await street.pass_by(7)
    await street.empty()
    assert (street.plan.phase, street.plan.audits, street.plan.agreement.found) == ("shadow", 1, 1.0)
    assert (street.plan.answers, street.plan.shortcut_share) == (1, 0.0)
    assert street.asked("small", background=False) == 0
    assert street.asked("small", background=True) == 1  # it was sure at once
    assert street.asked("big", background=True) == 0


async def test_a_shortcut_that_has_proven_itself_answers_from_then_on() -> None:
    street = Street(Rule(0.5))
    for track in range(10):
        assert not street.node.plans() or street.plan.phase == "shadow"
        await street.pass_by(track)
    await street.empty()
    assert (street.plan.phase, street.plan.audits) == ("trusted", 10)
    (region,) = await street.frame([99])
    assert region.attributes[0].looked == "variant"
    assert street.asked("big", background=True) == 0  # the proof has cost no run of the oracle


async def test_a_shortcut_that_contradicts_is_off_and_nobody_has_seen_its_answers() -> None:
    street = Street(Rule(0.9))
    street.small = {3: "red"}
    for track in range(8):
        assert await street.pass_by(track, shade=3) == "blue"
    await street.empty()
    assert street.plan.phase == "off"
    assert street.plan.switch_offs[0].reason.startswith("agrees too seldom")
    assert street.plan.shortcut_share == 0.0
    assert all(found.in_shadow for found in street.disagreements())


async def test_an_object_is_one_audit_however_often_it_is_looked_at() -> None:
    street = Street()
    await street.pass_by(7, frames=200)
    await street.empty()
    assert (street.plan.audits, street.plan.answers) == (1, 1)


async def test_where_the_oracle_is_not_sure_the_audit_counts_neither_for_nor_against() -> None:
    street = Street()
    street.sure = 0.3
    street.small = {3: "red"}
    await street.pass_by(7, shade=3, frames=30)
    await street.empty()
    assert (street.plan.audits, street.plan.agreement.audits, street.plan.agreement.unsure) == (0, 0, 1)
    assert street.asked("small", background=True) == LOOK_RULE.most_looks


async def test_looks_at_what_has_no_track_yet_are_no_audits() -> None:
    street = Street()
    for _ in range(30):
        await street.frame([None])
    assert street.asked("small", background=True) == 0
    street = Street(served=AuditState(phase="probation"))
    (region,) = await street.frame([None])
    assert region.attributes[0].provenance == "variant"
    assert street.node.plans() == {}


EVERY = Rule(0.9, probation_rate=1.0)


async def test_in_service_the_oracle_looks_at_drawn_objects_in_the_background() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    assert await street.pass_by(7) == "blue"
    await street.empty()
    assert (street.plan.phase, street.plan.audits, street.plan.shortcut_share) == ("probation", 1, 1.0)
    assert (street.asked("big", background=False), street.asked("big", background=True)) == (0, 1)


async def test_in_service_what_the_looks_together_say_is_compared() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    street.small = {3: "red"}
    await street.pass_by(7, shade=3)
    await street.pass_by(8)
    await street.empty()
    assert (street.plan.audits, street.plan.agreement.disagreements) == (2, 1)
    (found,) = street.disagreements()
    assert (found.stream, found.node, found.track_id, found.in_shadow) == ("cam", "type", 7, False)


async def test_objects_are_drawn_by_who_they_are() -> None:
    drawn = []
    for _ in range(2):
        street = Street(Rule(0.9, probation_rate=0.3), served=AuditState(phase="probation"))
        for track in range(20):
            await street.pass_by(track, frames=10)
        await street.empty()
        drawn.append(street.plan.audits)
    assert drawn[0] == drawn[1]
    assert 1 <= drawn[0] <= 14


async def test_an_object_that_is_never_seen_whole_is_given_up() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    for _ in range(20):
        await street.frame([7], x=0.0)
    await street.empty()
    assert (street.plan.audits, street.plan.given_up) == (0, 1)
    assert street.asked("big", background=True) == 0


async def test_an_object_that_never_ends_is_audited_and_holds_nothing() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    await street.pass_by(7, frames=1000)
    assert (street.plan.audits, street.plan.given_up) == (1, 0)
    street = Street(EVERY, served=AuditState(phase="probation"))
    for _ in range(1000):
        await street.frame([7], x=0.0)  # at the border for ever: there is never a conclusion
    assert (street.plan.audits, street.plan.given_up) == (0, 1)


async def test_a_new_run_ends_the_trials_of_the_old_one() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    street.sure = 1.5
    for _ in range(6):
        await street.frame([7], run="run-1")
    assert street.plan.agreement.unsure == 0
    await street.frame([7], run="run-2")
    assert (street.plan.agreement.unsure, street.plan.answers) == (1, 2)


async def test_a_stream_that_is_forgotten_ends_its_trials() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    for _ in range(6):
        await street.frame([7])
    street.node.forget("cam")
    assert (street.plan.audits, street.plan.given_up) == (1, 0)
    assert street.node.snapshot("cam") is None


async def test_nothing_is_kept_of_the_tracks_of_a_stream_that_is_gone() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    for _ in range(6):
        await street.frame([7])
    known = street.node._streams.known()["cam"]
    assert known.trials.has_counted(7, "variant")
    street.node.forget("cam")
    assert not known.trials.has_counted(7, "variant")


async def test_a_shortcut_whose_audits_cannot_be_paid_is_not_used() -> None:
    street = Street(EVERY, served=AuditState(phase="trusted"))
    street.node.books.purse.spend("training", math.inf)
    (region,) = await street.frame([7])
    assert region.attributes[0].looked == "oracle"


async def test_what_cannot_be_paid_is_not_done_in_the_shadow() -> None:
    street = Street()
    street.node.books.purse.spend("training", math.inf)
    await street.pass_by(7)
    await street.empty()
    assert street.asked("small", background=True) == 0


async def test_what_is_under_way_when_a_stream_is_forgotten_is_finished() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    street.background.clear()
    for _ in range(6):
        await street.frame([7])
    street.node.forget("cam")
    assert street.plan.audits == 0
    street.background.set()
    await street.node.close(1.0)
    assert street.plan.audits == 1


async def test_frames_do_not_wait_and_trials_end_without_the_looks_that_were_never_made() -> None:
    street = Street(EVERY, served=AuditState(phase="probation"))
    street.background.clear()
    assert await street.pass_by(7) == "blue"
    await street.node.close(0.01)
    assert (street.plan.audits, street.plan.given_up) == (0, 1)


async def test_a_full_backlog_refuses_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MAX_WAITING", 0)
    street = Street(EVERY, served=AuditState(phase="probation"))
    await street.pass_by(7)
    await street.empty()
    assert (street.plan.audits, street.plan.given_up, street.plan.unsampled) == (0, 0, 1)


async def test_no_more_frames_are_kept_for_the_shadow_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "MOST_BYTES", 0)
    street = Street()
    await street.pass_by(7)
    await street.empty()
    assert street.asked("small", background=True) == 0
    assert street.node.plans() == {}


async def test_the_oracles_agreement_with_itself_is_found_by_the_way() -> None:
    street = Street()
    await street.pass_by(7, frames=30)
    assert street.plan.self_agreement is not None
    assert (street.plan.self_agreement.comparisons, street.plan.self_agreement.found) == (1, 1.0)
    await street.pass_by(8, shade=3, frames=1)
    street.big = {3: "red"}
    await street.pass_by(8, shade=3, frames=10)
    assert (street.plan.self_agreement.comparisons, street.plan.self_agreement.disagreements) == (2, 1)
    assert street.asked("big", background=True) == 0


async def test_what_is_known_moves_to_another_worker() -> None:
    street, other = Street(Rule(0.5)), Street(Rule(0.5))
    for track in range(10):
        await street.pass_by(track, frames=30)
    await street.empty()
    known = street.node.snapshot("cam")
    assert known
    other.node.restore("cam", known)
    (region,) = await other.frame([1])
    assert region.attributes[0].looked == "variant"
    assert other.plan.self_agreement == street.plan.self_agreement
    assert other.plan.agreement == street.plan.agreement


async def test_without_tracks_a_look_is_compared_with_a_look_at_the_same_picture() -> None:
    street = Street(Rule(0.5), per_track=False)
    for _ in range(10):
        assert street.node.plans() == {} or street.plan.phase == "shadow"
        await street.frame([None])
    assert (street.plan.phase, street.plan.audits) == ("trusted", 10)
    assert street.asked("small", background=True) == 10
    assert street.asked("big", background=True) == 0
    (region,) = await street.frame([None])
    assert region.attributes[0].provenance == "variant"
    assert street.disagreements() == []


@pytest.mark.parametrize("served", [None, AuditState(phase="probation")])
async def test_without_tracks_both_answers_to_one_picture_are_told(served: AuditState | None) -> None:
    street = Street(EVERY, per_track=False, served=served)
    street.small = {3: "red"}
    await street.frame([None], shade=3)
    (found,) = street.disagreements()
    assert (found.track_id, found.in_shadow) == (None, served is None)
    assert min(found.shortcut.found[0].confidence, found.oracle.found[0].confidence) > 0.5
