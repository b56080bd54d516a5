"""A node with a shortcut: who answers, who looks again, and that no frame ever waits for it."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import weakref

import numpy as np
import pytest

from cache_adapt.audit.state import AuditState, Rule
from learning.budget import Budget, unlimited
from operators import background as backlog
from operators.audits.roles import Roles
from operators.audits.snapshot import VERSION, NodeSnapshot
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.variants import VariantShortcut
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, so_far
from operators.wire.schema import NodePlan
from serving.errors import SluiceError
from serving.scheduling.requests import Urgency
from tests.turns import turns

ALL = Rule(0.9, probation_rate=1.0)
"""Audits every answer: sure of a shortcut that is always right after 48 of them."""
BIG = card_of("big").identity
IN_SERVICE = NodeSnapshot(oracle=BIG, audits={"variant small": AuditState(phase="probation")}).to_json()


def colours(*says: str) -> np.ndarray:
    return np.array([[9.0 * (word == name) for name in ("blue", "green", "red")] for word in says])


class Scene:
    """A node that lists the shortcut ``small`` and its oracle ``big``, both of which say what the test wants."""

    def __init__(
        self,
        rule: Rule = ALL,
        in_service: tuple[str, ...] = ("cam", "good", "bad", "a", "b", "c"),
        budget: Budget | None = None,
        **more: float,
    ) -> None:
        """``in_service``: streams on which the shortcut answers already; ``more``: options of the recogniser."""
        self.small, self.big = "blue", "blue"
        self.gate: asyncio.Event | None = None
        self.broken = False
        self.changed: list[str] = []
        self.engine = FakeEngine(
            small=(card_of("small", tier="compact"), lambda batch: [colours(*[self.small] * len(batch))]),
            big=(card_of("big"), self._oracle),
        )
        self._put_up_a_gate()
        recogniser = Classifier(self.engine, Roles.of(["small", "big"], self.engine.card), "paint", **more)
        networks = ChainNetworks(recogniser, UnitCosts(self.engine), [VariantShortcut(recogniser, "small")])
        terms = ChainTerms(rule, budget or unlimited(), self.changed.append)
        self.node = Chain("type", networks, terms)
        for stream in in_service:
            self.node.restore(stream, IN_SERVICE)

    def _oracle(self, batch: np.ndarray) -> list[np.ndarray]:
        if self.broken:
            raise SluiceError("out of memory")
        return [colours(*[self.big] * len(batch))]

    def _put_up_a_gate(self) -> None:
        """What is asked in the background waits there."""
        infer = self.engine.infer

        async def waiting(model: str, batch: np.ndarray, urgency: Urgency, policy: None = None) -> list[np.ndarray]:
            if urgency.background and self.gate is not None:
                await self.gate.wait()
            return await infer(model, batch, urgency, policy)

        self.engine.infer = waiting  # type: ignore[assignment, method-assign]

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
    told = "stream cam, node type: the oracle answers: variant small agrees too seldom: in 0.000 to 0."
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


@pytest.mark.parametrize("streams", [("cam",), ()])
async def test_a_frame_leaves_memory_though_its_looks_still_wait(streams: tuple[str, ...]) -> None:
    scene = Scene(in_service=streams)
    picture = np.full((40, 40, 3), 200, np.uint8)
    known = weakref.ref(picture)
    frame = make_frame(image=picture)
    await scene.node.process(frame, [make_region()], call("small", 7.0))
    del picture, frame
    scene.engine.asked.clear()
    gc.collect()
    assert known() is None
    scene.node.published(so_far())
    await scene.node.close(10)
    assert len(scene.engine.asked) == 1


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
    assert [record.message for record in caplog.records] == ["a second network cannot audit: out of memory"]
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


async def test_audits_of_other_networks_are_not_gone_on_with(caplog: pytest.LogCaptureFixture) -> None:
    served = AuditState(phase="trusted", by_shortcut=9)
    other = Scene(in_service=())
    other.node.restore("cam", NodeSnapshot(oracle=BIG, audits={"variant middle": served}).to_json())
    (region,) = await other.frame(0)
    assert region.attributes[0].provenance == "oracle", "another worker's variant is another one"
    other.node.restore("cam", NodeSnapshot(oracle="ab" * 32, audits={"variant small": served}).to_json())
    (region,) = await other.frame(1)
    assert region.attributes[0].provenance == "oracle", "it was compared with another oracle"
    assert caplog.messages == ["stream cam, node type: the snapshot is of another network; the stream begins anew"]


async def test_a_damaged_snapshot_of_a_shortcut_is_logged_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(in_service=())
    scene.node.restore("cam", b'{"version": %d, "audits": []}' % VERSION)
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


async def test_in_the_shadow_the_shortcut_looks_at_the_same_crop_once_the_answer_has_left() -> None:
    scene = Scene(in_service=())
    regions = await scene.frame(0, regions=3)
    assert [region.attributes[0].provenance for region in regions] == ["oracle"] * 3
    await turns()
    assert [model for model, _, _ in scene.engine.asked] == ["big"]
    scene.node.published(so_far())
    await scene.node.close(10)
    assert [(model, deadline) for model, _, deadline in scene.engine.asked[1:]] == [("small", math.inf)] * 3
    assert (scene.engine.asked[1][1] == scene.engine.asked[0][1][:1]).all()
    assert (scene.plan().phase, scene.plan().audits, scene.plan().answers) == ("shadow", 3, 3)
    assert (scene.plan().shortcut_share, scene.plan().agreement.found) == (0.0, 1.0)


async def test_a_shortcut_that_has_proven_itself_in_the_shadow_answers_from_then_on() -> None:
    scene = Scene(in_service=())
    await scene.life(24, regions=2)
    assert (scene.plan().phase, scene.plan().audits) == ("trusted", 48)
    assert scene.changed == ["cam"]
    (region,) = await scene.frame(24)
    assert region.attributes[0].provenance == "variant"


@pytest.mark.parametrize("streams", [("cam",), ()])
async def test_what_cannot_be_paid_is_not_looked_at_twice_and_told(streams: tuple[str, ...]) -> None:
    scene = Scene(in_service=streams, budget=Budget(0.0, lambda: 1000.0))
    await scene.life(3, regions=2)
    assert len(scene.engine.asked) == 3
    assert scene.node.plans() == {} or (scene.plan().audits, scene.plan().unsampled) == (0, 6)


async def test_looks_of_another_network_are_paid_from_the_budget() -> None:
    used_s = 100.0
    budget = Budget(0.01, lambda: used_s)
    scene = Scene(budget=budget)
    scene.engine.costs_s["big"] = 0.3
    await scene.life(2, regions=3)
    assert (scene.plan().audits, scene.plan().unsampled) == (3, 3)
    assert budget.spent["audits"] == pytest.approx(0.9, abs=0.01)
    used_s = 200.0
    await scene.life(1)
    assert scene.plan().audits == 4


async def test_published_words_are_compared_unknown_among_them() -> None:
    scene = Scene(in_service=(), min_confidence=0.9999)  # both are less sure: 0.9998
    scene.small = "red"
    await scene.life(5)
    assert (scene.plan().agreement.audits, scene.plan().agreement.disagreements) == (5, 0)
    assert scene.plan().names_lost is None


async def test_names_that_are_lost_are_told_apart() -> None:
    scene = Scene(in_service=())
    await scene.life(8)
    scene.small = "red"
    await scene.life(2)
    lost = scene.plan().names_lost
    assert lost is not None
    assert (lost.names, lost.lost, lost.found) == (10, 2, 0.2)
    assert (lost.exact.low, lost.exact.high) == (0.0252, 0.5561)  # Clopper–Pearson, two of ten


MODELS = ("big", "big@onnxruntime-fp32-batch4", "small")


@pytest.mark.parametrize(
    ("planned", "asked", "declined"),
    [
        ("big", "big", {}),
        ("big@onnxruntime-fp32-batch4", "big@onnxruntime-fp32-batch4", {}),
        ("small", "big", {"variant": "it has yet to prove itself on this stream"}),
        (None, "big", {}),
        ("tiny", "big", {"variant": "tiny is not a model of this node"}),
    ],
)
async def test_the_oracle_answers_under_the_name_that_the_decision_gives_it(
    planned: str | None, asked: str, declined: dict[str, str]
) -> None:
    says = lambda batch: [colours(*["red"] * len(batch))]  # noqa: E731
    engine = FakeEngine(**{name: (card_of("big"), says) for name in MODELS})
    recogniser = Classifier(engine, Roles.of(MODELS, engine.card), "paint")
    node = Chain(
        "type", ChainNetworks(recogniser, UnitCosts(engine), [VariantShortcut(recogniser, "small")]), ChainTerms(ALL)
    )
    regions = [make_region(id=0), make_region(0.5, id=1)]
    answer = await node.process(make_frame(), regions, call(planned))
    assert [[each.label for each in region.attributes] for region in regions] == [["red"], ["red"]]
    assert [model for model, _, _ in engine.asked] == [asked]
    assert answer.declined == declined


async def test_without_regions_nothing_is_asked() -> None:
    scene = Scene()
    assert await scene.frame(0, regions=0) == []
    assert scene.engine.asked == []
