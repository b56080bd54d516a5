"""A detector with several models: who runs, who has to prove itself, and what audits find."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from cache_adapt.audit.state import AuditState, Rule
from learning.budget import SHARE, Budget, unlimited
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.audits.unit_costs import HANDLING_S, UnitCosts
from operators.base import Call, NodeAnswer
from operators.decision import Decision, Rung
from operators.detect.variants.audits import VariantTerms
from operators.detect.variants.operator import DetectVariants
from operators.frames.frame import Frame, Region
from operators.testing import FakeEngine, card_of, make_frame, make_region, so_far
from operators.testing.builders import call
from serving.errors import BackendDown, ModelError, OutOfService
from serving.scheduling.requests import Urgency
from tests.pipelines.run.recording import Recording

NAMES = ("big", "middle", "small")
ROOMY = tuple(Rung(name, 1) for name in NAMES)
TIGHT = (Rung("big", 0), Rung("middle", 1), Rung("small", 9))


class Finder:
    """Each model finds two cars, and those that are ``blind`` only so many of ten."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.blind: dict[str, int] = {}
        self.errors: dict[str, Exception] = {}

    async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
        assert given.model is not None
        self.asked.append((given.model, "background" if given.urgency.background else "frame"))
        if given.model in self.errors:
            raise self.errors[given.model]
        return [make_region(0.09 * n, 0.1, 0.08) for n in range(self.blind.get(given.model, 10))]

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


class Scene:
    """A node with the oracle ``big`` and two cheaper models."""

    def __init__(self, budget: Budget | None = None, **phases: str) -> None:
        self.finder, self.engine, self.changed = Finder(), FakeEngine(), list[str]()
        self.heard = Recording()
        cards = {name: card_of(name, tier="reference" if name == "big" else "compact") for name in NAMES}
        rule = Rule(0.9, probation_rate=1.0)
        self.budget = budget or unlimited()
        terms = VariantTerms(rule, 0.5, UnitCosts(self.engine), self.budget, self.changed.append, self.heard)
        self.node = DetectVariants("find", self.finder, roles := Roles.of(NAMES, cards.__getitem__), terms)
        audits = {f"variant {model}": AuditState(phase=phase, rest=1000) for model, phase in phases.items()}  # type: ignore[arg-type]
        if audits:
            self.node.restore("cam", NodeSnapshot(oracle=roles.identity, audits=audits).to_json())
        self.answer = NodeAnswer()

    @property
    def plan(self) -> Decision:
        """The plan of the latest frame, as it was carried out."""
        assert self.answer.decision is not None
        return self.answer.decision

    async def frame(self, seq: int, ladder: Sequence[Rung] = ROOMY, plan: Decision | None = None) -> Sequence[Region]:
        call = Call(plan or Decision("big", ladder=ladder, budget_ms=40.0), Urgency(7.0))
        self.answer = await self.node.process(make_frame(seq, seq / 10), (), call)
        return self.answer.regions

    async def play(self, frames: int, ladder: Sequence[Rung] = ROOMY, begin: int = 0) -> None:
        for seq in range(begin, begin + frames):
            await self.frame(seq, ladder)
            self.node.published(so_far())
            for _ in range(20):
                await asyncio.sleep(0)

    def ran(self) -> set[str]:
        return {model for model, why in self.finder.asked if why == "frame"}

    def phases(self) -> dict[str, str]:
        return {plan.shortcuts[0]: plan.phase for plan in self.node.plans(gone=True)["cam"]}


async def test_the_first_that_has_the_time_runs_where_all_have_proven_themselves() -> None:
    scene = Scene(middle="probation", small="probation")
    await scene.frame(0)
    assert (scene.ran(), scene.plan.variant) == ({"big"}, "big")
    await scene.frame(1, TIGHT)
    assert scene.plan.variant == "middle"
    assert scene.finder.asked[-1] == ("middle", "frame")
    assert scene.plan.why == "takes 0 of 40 ms; big 0"
    await scene.frame(2, tuple(Rung(name, 0, 0.01 / place) for place, name in enumerate(NAMES, 1)))
    assert (scene.plan.variant, scene.plan.cause) == ("small", "cheapest")


async def test_models_prove_themselves_unseen_and_then_answer() -> None:
    scene = Scene()
    await scene.play(120, TIGHT)
    assert scene.phases()["middle"] == "trusted"
    frames = [model for model, why in scene.finder.asked if why == "frame"]
    assert frames[0] == "big"
    assert frames[-1] == "middle"
    assert set(scene.changed) == {"cam"}


async def test_a_model_that_was_compared_elsewhere_answers_at_once_and_is_audited_often() -> None:
    scene = Scene()
    await scene.frame(0, plan=Decision("small", budget_ms=40.0, compared=True))
    assert (scene.ran(), scene.plan.variant, scene.answer.declined) == ({"small"}, "small", {})
    assert scene.phases()["small"] == "probation"
    await scene.frame(1, plan=Decision("middle", budget_ms=40.0))
    assert scene.plan.variant == "big"


async def test_a_model_that_disagrees_leaves_the_table_of_its_stream(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(middle="probation", small="probation")
    scene.finder.blind["middle"] = 5
    with caplog.at_level(logging.INFO):
        await scene.play(120, TIGHT)
    assert scene.phases() == {"middle": "off", "small": "trusted"}
    assert scene.plan.variant == "small"
    assert scene.answer.declined == {"variant": "middle: its audit has switched it off"}
    assert "stream cam, node find: the oracle answers: variant middle agrees too seldom" in caplog.text
    other = await scene.node.process(make_frame(0, stream="cam-2"), (), call("middle"))
    assert len(other.regions) == 10  # another stream has audits of its own; there the oracle answers still


async def test_the_audit_measures_the_share_of_objects_on_which_both_agree() -> None:
    scene = Scene(middle="probation")
    scene.finder.blind["middle"] = 9
    await scene.play(300, TIGHT)
    (plan,) = [plan for plan in scene.node.plans()["cam"] if plan.shortcuts == ["middle"]]
    assert plan.agreement.found == pytest.approx(0.9, abs=0.05)
    assert plan.agreement.sequential.low <= 0.9 <= plan.agreement.sequential.high
    told = scene.heard.calls["audit_disagreed"]
    assert len(told) == plan.agreement.disagreements > 0
    for found, picture in told:
        assert (found.kind, found.shortcut.models, found.oracle.models) == ("variant", ["middle"], ["big"])
        assert (len(found.shortcut.found), len(found.oracle.found), picture.ndim) == (9, 10, 3)


async def test_frames_on_which_nobody_finds_anything_prove_nothing() -> None:
    scene = Scene()
    scene.finder.blind.update(dict.fromkeys(NAMES, 0))
    await scene.play(60, TIGHT)
    (plan, _) = scene.node.plans()["cam"]
    assert (plan.phase, plan.agreement.audits, plan.agreement.unsure) == ("shadow", 0, 30)


async def test_nothing_is_looked_at_twice_that_the_budget_does_not_pay() -> None:
    used_s = 1.0
    budget = Budget(SHARE, lambda: used_s)
    scene = Scene(budget, middle="probation")
    scene.engine.costs_s.update(dict.fromkeys(NAMES, 0.1))
    await scene.play(20, TIGHT)
    assert {why for _, why in scene.finder.asked} == {"frame"}
    assert scene.ran() == {"big"}  # who cannot be audited does not answer either
    assert "middle: its audits cannot be paid yet" in scene.answer.declined["variant"]
    used_s = 1000.0
    await scene.play(20, TIGHT, begin=20)
    assert budget.spent["audits"] == pytest.approx(20 * (0.1 + HANDLING_S))


async def test_without_a_budget_the_oracle_answers_even_before_costs_are_known() -> None:
    scene = Scene(Budget(0.0, lambda: 1e6), middle="trusted")
    await scene.play(5, TIGHT)
    assert scene.ran() == {"big"}


async def test_the_budget_pays_all_models_alike_and_not_only_the_cheapest() -> None:
    used_s = 0.0
    scene = Scene(Budget(SHARE, lambda: used_s))
    scene.engine.costs_s.update({"big": 0.1, "middle": 0.05, "small": 0.01})
    for seq in range(600):
        used_s += 0.005 / SHARE  # pays half a centisecond a frame
        await scene.play(1, TIGHT, begin=seq)
    audits = {plan.shortcuts[0]: plan.audits for plan in scene.node.plans()["cam"]}
    assert abs(audits["middle"] - audits["small"]) <= 1
    assert audits["middle"] > 20


async def test_a_look_is_paid_when_it_is_drawn_like_the_oracles_if_none_is_known_and_given_back_if_not_made() -> None:
    scene = Scene(Budget(SHARE, lambda: 31.0))
    scene.engine.costs_s["big"] = 0.1
    await scene.frame(0, TIGHT)
    assert scene.budget.spent["audits"] == pytest.approx(0.1 + HANDLING_S)
    await scene.node.close(0.0)  # no result was sent
    assert scene.budget.spent["audits"] == pytest.approx(0)


@pytest.mark.parametrize(("error", "comes_back"), [(ModelError("not built"), False), (OutOfService("hangs"), True)])
async def test_a_model_that_vanishes_gives_way_to_the_oracle(error: Exception, comes_back: bool) -> None:
    scene = Scene(middle="probation", small="probation")
    scene.finder.errors["middle"] = error
    assert len(await scene.frame(0, TIGHT)) == 10
    assert (scene.plan.variant, scene.answer.declined) == ("big", {"variant": "middle: it is not there"})
    scene.finder.errors.clear()
    await scene.frame(1, TIGHT)
    assert scene.plan.variant == ("middle" if comes_back else "small")


async def test_an_oracle_that_fails_fails_the_frame() -> None:
    scene = Scene()
    scene.finder.errors["big"] = ModelError("gone")
    with pytest.raises(ModelError, match="gone"):
        await scene.frame(0)


async def test_where_the_backend_of_the_oracle_is_down_the_first_that_can_answers_proven_or_not() -> None:
    scene = Scene(middle="probation", small="probation")
    scene.finder.errors |= {"big": BackendDown("backend gpu: away"), "middle": BackendDown("backend gpu: away")}
    assert len(await scene.frame(0)) == 10
    assert scene.plan.variant == "small"
    assert scene.answer.declined["variant"] == "big: it is not there, so small answers, proven or not"
    scene.finder.errors["small"] = BackendDown("backend gpu: away")
    with pytest.raises(BackendDown, match="away"):
        await scene.frame(1)
    scene.finder.errors.clear()
    await scene.frame(2)
    assert scene.plan.variant == "big"


async def test_a_plan_without_a_ladder_or_without_shortcuts_is_obeyed() -> None:
    scene = Scene(small="probation")
    await scene.frame(0, plan=Decision("small", why="first listed"))
    assert scene.plan.variant == "small"
    await scene.frame(1, plan=Decision("middle", why="first listed"))
    assert scene.plan.variant == "big"
    assert scene.answer.declined == {"variant": "middle: it has yet to prove itself on this stream"}
    await scene.frame(2, plan=Decision("small", shortcuts=frozenset(), ladder=TIGHT))
    assert (scene.plan.variant, scene.answer.declined) == ("big", {})


async def test_audits_of_dropped_frames_and_of_streams_that_went_are_given_up() -> None:
    scene = Scene(middle="probation")
    await scene.frame(0, TIGHT)  # no result was sent
    await scene.frame(1, TIGHT)
    scene.node.forget("cam")
    assert scene.node.plans() == {}
    (plan,) = scene.node.plans(gone=True)["cam"]
    assert (plan.given_up, plan.audits, plan.answers) == (2, 0, 2)
    await scene.node.close(1.0)


async def test_audits_survive_a_restart_and_damaged_ones_begin_anew() -> None:
    scene = Scene(middle="probation")
    await scene.play(60, TIGHT)
    data = scene.node.snapshot("cam")
    assert data is not None
    other = Scene()
    other.node.restore("cam", data)
    assert other.phases() == scene.phases()
    assert other.node.snapshot("cam") == data
    other.node.restore("cam", b"[")
    assert other.node.snapshot("unknown") is None
