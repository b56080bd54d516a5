"""A node with a shortcut: who answers, who looks again, and that no frame ever waits for it."""

from __future__ import annotations

import asyncio
import logging
import math

import numpy as np
import pytest

from cache_adapt.audit.state import AuditState, Rule
from operators import background as backlog
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.frames.frame import Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.recognise.terms import ChainTerms, Listeners
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, so_far
from operators.wire.schema import NodePlan
from serving.errors import SluiceError
from serving.scheduling.requests import Urgency
from tests.turns import turns

ALL = Rule(0.9, probation_rate=1.0)
"""Audits every answer: sure of a shortcut that is always right after 48 of them."""
IN_SERVICE = NodeSnapshot(audits={"variant": AuditState(phase="probation")}).to_json()


def colours(*says: str) -> np.ndarray:
    return np.array([[9.0 * (word == name) for name in ("blue", "green", "red")] for word in says])


class Scene:
    """A node that lists the shortcut ``small`` and its oracle ``big``, both of which say what the test wants."""

    def __init__(self, rule: Rule = ALL, in_service: tuple[str, ...] = ("cam", "good", "bad", "a", "b", "c")) -> None:
        """``in_service``: streams on which the shortcut answers already."""
        self.small, self.big = "blue", "blue"
        self.gate: asyncio.Event | None = None
        self.broken = False
        self.changed: list[str] = []
        self.engine = FakeEngine(
            small=(card_of("small", tier="compact"), lambda batch: [colours(*[self.small] * len(batch))]),
            big=(card_of("big"), self._oracle),
        )
        self._put_up_a_gate()
        recogniser = Classifier(self.engine, Roles.of(["small", "big"], self.engine.card), "paint")
        links = [VariantShortcut(recogniser, *recogniser.roles.shortcuts)]
        self.node = Chain("type", links, Oracle(recogniser), ChainTerms(rule, Listeners(self.changed.append)))
        for stream in in_service:
            self.node.restore(stream, IN_SERVICE)

    def _oracle(self, batch: np.ndarray) -> list[np.ndarray]:
        if self.broken:
            raise SluiceError("out of memory")
        return [colours(*[self.big] * len(batch))]

    def _put_up_a_gate(self) -> None:
        """What is asked in the background waits there."""
        infer = self.engine.infer

        async def waiting(model: str, batch: np.ndarray, urgency: Urgency) -> list[np.ndarray]:
            if urgency.background and self.gate is not None:
                await self.gate.wait()
            return await infer(model, batch, urgency)

        self.engine.infer = waiting  # type: ignore[method-assign]

    async def frame(self, seq: int, regions: int = 1, stream: str = "cam", model: str = "small") -> list[Region]:
        found = [make_region(id=number) for number in range(regions)]
        await self.node.process(make_frame(seq, stream=stream), found, call(model, 7.0))
        return found

    async def life(self, frames: int, regions: int = 1, stream: str = "cam") -> None:
        """Frames one after the other, each of whose results leaves; the audits keep up."""
        for seq in range(frames):
            await self.frame(seq, regions, stream)
            self.node.published(so_far(stream))
            await self.node.close(10)

    def plan(self, stream: str = "cam") -> NodePlan:
        (plan,) = self.node.plans(gone=True)[stream]
        return plan


async def test_the_shortcut_answers_and_the_oracle_looks_again_in_the_background() -> None:
    scene = Scene()
    (region,) = await scene.frame(0)
    assert [model for model, _, _ in scene.engine.asked] == ["small"]
    (answer,) = region.attributes
    assert (answer.label, answer.provenance, answer.model.name) == ("blue", "variant", "small")
    scene.node.published(so_far())
    await scene.node.close(10)
    assert [(model, len(batch), deadline) for model, batch, deadline in scene.engine.asked[1:]] == [
        ("big", 1, math.inf)
    ]
    plan = scene.plan()
    assert (plan.agreement.audits, plan.agreement.disagreements, plan.shortcut_share) == (1, 0, 1.0)
    assert region.attributes == [answer]  # what has left is not changed


async def test_nothing_is_looked_at_before_the_result_has_left() -> None:
    scene = Scene()
    await scene.frame(0, regions=3)
    for _ in range(10):
        await asyncio.sleep(0)
    assert [model for model, _, _ in scene.engine.asked] == ["small"]


async def test_answers_of_a_frame_that_came_to_nothing_are_not_audited() -> None:
    scene = Scene()
    await scene.frame(0, regions=3)
    scene.node.dropped(make_frame(0).header.id)
    scene.node.published(so_far())
    await scene.node.close(10)
    assert (scene.plan().audits, scene.plan().given_up) == (0, 3)


async def test_a_frame_is_audited_though_the_next_one_is_analysed_before_its_result_has_left() -> None:
    scene = Scene()
    await scene.frame(0, regions=3)
    await scene.frame(1, regions=2)
    scene.node.published(make_frame(0).header.id)
    await turns()
    assert scene.plan().audits == 3, "those of the next one wait for its own result"
    scene.node.published(make_frame(1).header.id)
    await scene.node.close(10)
    assert (scene.plan().audits, scene.plan().given_up) == (5, 0)


async def test_frames_do_not_wait_for_audits() -> None:
    scene = Scene()
    scene.gate = asyncio.Event()
    for seq in range(5):
        await scene.frame(seq)
        scene.node.published(so_far())
        await asyncio.sleep(0)
    assert scene.plan().audits == 0
    scene.gate.set()
    await scene.node.close(10)
    assert scene.plan().audits == 5


async def test_a_shortcut_that_disagrees_is_switched_off_and_the_oracle_answers() -> None:
    scene = Scene(Rule(0.9, probation_rate=1.0, rest=4))
    scene.small = "red"
    await scene.life(1)
    while scene.plan().phase != "off":
        await scene.life(1)
    assert scene.changed == ["cam"]
    answers = [(await scene.frame(seq))[0].attributes[0] for seq in range(5)]
    assert [(each.label, each.provenance) for each in answers] == [("blue", "oracle")] * 5
    assert scene.plan().phase == "shadow"
    assert scene.changed == ["cam", "cam"]
    (switch_off,) = scene.plan().switch_offs
    assert switch_off.reason.startswith("agrees too seldom")


async def test_a_switch_off_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.small = "red"
    with caplog.at_level(logging.WARNING):
        await scene.life(20)
    (line,) = [record.message for record in caplog.records]
    told = "stream cam, node type: the oracle answers: a shortcut (variant) agrees too seldom: in 0.000 to 0."
    assert line.startswith(told)


async def test_a_shortcut_that_agrees_is_trusted_and_seldom_audited() -> None:
    scene = Scene()
    await scene.life(8, regions=10)
    assert (scene.plan().phase, scene.changed) == ("trusted", ["cam"])
    assert scene.plan().agreement.sequential.low >= 0.9
    assert scene.plan().audits < 60


async def test_streams_are_judged_apart() -> None:
    scene = Scene()
    await scene.life(8, regions=10, stream="good")
    scene.small = "red"
    await scene.life(2, regions=10, stream="bad")
    assert (scene.plan("good").phase, scene.plan("bad").phase) == ("trusted", "off")


async def test_a_call_for_the_oracle_costs_no_audit_and_is_not_worth_a_word() -> None:
    scene = Scene()
    (region,) = await scene.frame(0, model="big")
    assert region.attributes[0].provenance == "oracle"
    scene.node.published(so_far())
    await scene.node.close(10)
    assert [model for model, _, _ in scene.engine.asked] == ["big"]
    assert scene.node.plans(gone=True) == {}
    await scene.frame(1)
    assert (scene.plan().answers, scene.plan().shortcut_share) == (2, 0.5)


async def test_a_full_backlog_refuses_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MAX_WAITING", 8)
    scene = Scene()
    scene.gate = asyncio.Event()
    for seq in range(10):
        await scene.frame(seq, regions=2)
        scene.node.published(so_far())
    scene.gate.set()
    await scene.node.close(10)
    assert (scene.plan().audits, scene.plan().unsampled, scene.plan().given_up) == (8, 12, 0)


async def test_crops_are_bounded_by_their_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MAX_BYTES", 3000)
    scene = Scene()
    await scene.life(3)  # a crop is 32 × 24 pixels
    assert (scene.plan().audits, scene.plan().unsampled) == (3, 0)
    scene.gate = asyncio.Event()
    for seq in range(4):
        await scene.frame(seq)
        scene.node.published(so_far())
    assert scene.plan().unsampled == 2
    scene.gate.set()
    await scene.node.close(10)


async def test_the_crop_is_kept_and_not_the_frame() -> None:
    scene = Scene()
    frame = make_frame(image=np.full((40, 40, 3), 200, np.uint8))
    await scene.node.process(frame, [make_region()], call("small", 7.0))
    frame.image[:] = 0
    scene.node.published(so_far())
    await scene.node.close(10)
    assert scene.engine.asked[1][1].max() == scene.engine.asked[0][1].max() > 0


async def test_closing_gives_up_what_is_not_done_in_time() -> None:
    scene = Scene()
    scene.gate = asyncio.Event()
    await scene.frame(0, regions=20)
    scene.node.published(so_far())
    await scene.frame(1, regions=2)
    await scene.node.close(0.01)
    assert (scene.plan().audits, scene.plan().given_up) == (0, 22)


async def test_an_oracle_that_fails_disturbs_nobody_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.broken = True
    with caplog.at_level(logging.WARNING):
        await scene.life(3, regions=4)
    assert [record.message for record in caplog.records] == ["the oracle cannot audit: out of memory"]
    assert (scene.plan().phase, scene.plan().audits, scene.plan().given_up) == ("probation", 0, 12)
    scene.broken = False
    await scene.life(1)
    assert scene.plan().audits == 1


async def test_a_stream_that_comes_back_begins_anew_and_the_report_keeps_the_last() -> None:
    scene = Scene()
    await scene.life(2)
    scene.node.forget("cam")
    assert scene.node.plans() == {}
    assert scene.plan().answers == 2
    await scene.life(1)
    assert [(plan.phase, plan.answers) for plan in scene.node.plans()["cam"]] == [("shadow", 1)]


async def test_audits_of_a_stream_that_is_gone_are_still_finished() -> None:
    scene = Scene()
    await scene.frame(0)
    scene.node.published(so_far())
    scene.node.forget("cam")
    await scene.node.close(10)
    assert scene.plan().audits == 1


async def test_streams_that_are_gone_are_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.audits.streams.REMEMBERED_STREAMS", 2)
    scene = Scene()
    for name in "abc":
        await scene.frame(0, stream=name)
        scene.node.forget(name)
    assert list(scene.node.plans(gone=True)) == ["b", "c"]


async def test_the_same_frames_are_audited_whenever_they_are_analysed() -> None:
    scenes = [Scene(Rule(0.9, probation_rate=0.3)) for _ in range(2)]
    for scene in scenes:
        await scene.life(20, regions=3)
    first, second = (scene.plan() for scene in scenes)
    assert first == second
    assert 5 < first.audits < 35


async def test_what_is_known_of_a_shortcut_moves_to_another_worker() -> None:
    scene, other = Scene(), Scene(in_service=())
    assert scene.node.snapshot("new") is None
    await scene.life(8, regions=10)
    known = scene.node.snapshot("cam")
    assert known
    other.node.restore("cam", known)
    await other.frame(100)
    assert other.plan().phase == "trusted"
    assert other.plan().answers == scene.plan().answers + 1


async def test_a_damaged_snapshot_of_a_shortcut_is_logged_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(in_service=())
    scene.node.restore("cam", b'{"version": 3, "audits": []}')
    assert "stream cam, node type: the snapshot is damaged, the stream begins anew" in caplog.text
    await scene.frame(0)
    assert scene.node.plans() == {}


async def test_the_plan_decides_whether_the_shortcut_may_answer() -> None:
    scene = Scene()
    region = make_region()
    answer = await scene.node.process(make_frame(), [region], call("small", shortcuts=frozenset()))
    assert (region.attributes[0].provenance, answer.declined) == ("oracle", {})


async def test_a_plan_that_the_audit_forbids_is_declined_and_says_why() -> None:
    scene = Scene(Rule(1.0), in_service=())  # no shortcut may ever answer
    region = make_region()
    wanted = await scene.node.process(make_frame(0), [region], call("small"))
    obeyed = await scene.node.process(make_frame(1), [make_region()], call("big"))
    assert region.attributes[0].provenance == "oracle"
    assert wanted.declined == {"variant": "its audit has switched it off"}
    assert obeyed.declined == {}
