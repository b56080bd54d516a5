"""A chain whose node lists several models: the planned one answers, and each proves itself."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from cache_adapt.audit.state import AuditState, Rule
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.audits.unit_costs import UnitCosts
from operators.base import Call
from operators.decision import Decision, Rung
from operators.frames.frame import Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.objects import Objects
from operators.recognise.variants import VariantShortcut
from operators.testing import FakeEngine, card_of, make_frame, make_region, scores, so_far
from operators.wire.schema import Fallback
from serving.errors import BackendDown, ModelError, OutOfService
from serving.scheduling.requests import Urgency

ROOMY = (Rung("big", 2), Rung("middle", 4), Rung("small", 9))
NAMES = ("big", "middle", "small")


def state(phase: Any) -> AuditState:
    return AuditState(phase=phase, rest=1000)


class Scene:
    """The oracle ``big`` and two cheaper models; all say what the test wants."""

    def __init__(self, tracks: bool = False, **phases: str) -> None:
        """``phases``: of the audits of models on the stream ``cam``; others begin in the shadow."""
        self.says = dict.fromkeys(NAMES, "blue")
        self.gone: set[str] = set()
        self.error: ModelError = ModelError("the variant is not built yet")
        cards = {name: card_of(name, tier="reference" if name == "big" else "compact") for name in NAMES}
        self.engine = FakeEngine(**{name: (card, self._answering(name)) for name, card in cards.items()})
        recogniser = Classifier(self.engine, Roles.of(NAMES, self.engine.card), "paint")
        variants = [VariantShortcut(recogniser, model) for model in recogniser.roles.listed_shortcuts]
        objects = Objects(recogniser) if tracks else None
        networks = ChainNetworks(recogniser, UnitCosts(self.engine), variants)
        self.node = Chain("type", networks, ChainTerms(Rule(0.9, probation_rate=1.0)), objects)
        audits = {f"variant {model}": state(phase) for model, phase in phases.items()}
        self.node.restore("cam", NodeSnapshot(oracle=recogniser.roles.identity, audits=audits).to_json())
        self.call = Call(Decision(None), Urgency(0.0))

    def _answering(self, name: str) -> Any:
        def answer(batch: Any) -> list[Any]:
            if name in self.gone:
                raise self.error
            return [scores([self.says[name]] * len(batch))]

        return answer

    async def frame(self, seq: int, objects: int, ladder: Any = ROOMY, fallback: Fallback = "cheapest") -> list[Region]:
        regions = [make_region(0.01 + 0.1 * n, 0.2, 0.08, id=n, track_id=n) for n in range(objects)]
        plan = Decision("big", ladder=ladder, fallback=fallback)
        self.engine.asked.clear()
        self.answer = await self.node.process(make_frame(seq, seq / 10), regions, Call(plan, Urgency(7.0)))
        return regions

    @property
    def plan(self) -> Decision:
        """The plan of the latest frame, as it was carried out."""
        assert self.answer.decision is not None
        return self.answer.decision

    def asked(self) -> dict[str, int]:
        looks = Counter[str]()
        for model, batch, _ in self.engine.asked:
            looks[model] += len(batch)
        return looks


async def test_the_planned_model_answers_for_all_regions() -> None:
    scene = Scene(middle="probation", small="probation")
    for objects, model in ((2, "big"), (3, "middle"), (4, "middle"), (9, "small"), (12, "small")):
        regions = await scene.frame(objects, objects)
        assert scene.asked() == {model: objects}
        assert {region.attributes[0].model.name for region in regions} == {model}
        assert scene.plan.variant == model
    assert scene.plan.cause == "cheapest"


async def test_what_has_not_proven_itself_does_not_answer_and_is_compared_unseen() -> None:
    scene = Scene(small="probation")
    await scene.frame(0, 4)
    assert scene.plan.variant == "small"
    assert scene.answer.declined == {"variant": "middle: it has yet to prove itself on this stream"}
    scene.node.dropped(make_frame(0).header.id)
    await scene.frame(1, 2)
    scene.node.published(so_far())
    await scene.node.close(10)
    assert scene.asked() == {"big": 2, "middle": 2}
    plans = {plan.shortcuts[0]: plan for plan in scene.node.plans()["cam"]}
    assert {model: plan.phase for model, plan in plans.items()} == {"middle": "shadow", "small": "probation"}
    assert plans["middle"].agreement.audits == 2


async def test_a_variant_that_disagrees_leaves_the_table_of_its_stream_alone() -> None:
    scene = Scene(middle="probation", small="probation")
    scene.says["middle"] = "red"
    for seq in range(30):
        await scene.frame(seq, 4)
        scene.node.published(so_far())
        await scene.node.close(10)
    phases = {plan.shortcuts[0]: plan.phase for plan in scene.node.plans()["cam"]}
    assert phases == {"middle": "off", "small": "trusted"}
    await scene.frame(40, 4)
    assert scene.plan.variant == "small"
    assert scene.answer.declined == {"variant": "middle: its audit has switched it off"}


async def test_a_variant_that_vanishes_is_passed_over() -> None:
    scene = Scene(middle="probation", small="probation")
    scene.gone.add("middle")
    regions = await scene.frame(0, 4)
    assert {region.attributes[0].model.name for region in regions} == {"big"}
    assert scene.answer.declined == {"variant": "middle is not there"}
    await scene.frame(1, 4)
    assert scene.plan.variant == "small"
    assert scene.answer.declined == {"variant": "middle: it is not there"}


async def test_known_answers_leave_time_for_the_better_model() -> None:
    scene = Scene(tracks=True, middle="probation", small="probation")
    await scene.frame(0, 8)
    assert scene.asked() == {"small": 8}
    await scene.frame(1, 9)  # only the ninth is new
    assert scene.asked() == {"big": 1}


async def test_where_nothing_fits_known_answers_are_kept_and_new_objects_are_looked_at() -> None:
    scene = Scene(tracks=True, middle="probation", small="probation")
    for seq in range(0, 20, 4):  # all looks that are made to become sure
        await scene.frame(seq, 3)
    nothing = (Rung("big", 0, 0.03), Rung("middle", 0, 0.02), Rung("small", 0, 0.01))
    regions = await scene.frame(22, 4, nothing, "reuse")
    assert scene.asked() == {"small": 1}
    assert [region.attributes[0].label for region in regions] == ["blue"] * 4
    assert (scene.plan.cause, scene.plan.objects) == ("reuse", 1)
    assert scene.plan.why.endswith("3 of 4 wait")
    await scene.frame(60, 4, nothing, "reuse")  # a check waits, but not for ever
    assert scene.asked() == {"small": 4}


async def test_every_model_keeps_its_own_audit_over_a_restart() -> None:
    scene, other = Scene(middle="probation", small="off"), Scene()
    await scene.frame(0, 3)
    data = scene.node.snapshot("cam")
    assert data is not None
    other.node.restore("cam", data)
    await other.frame(1, 9)
    assert other.plan.variant == "middle"
    assert other.answer.declined == {"variant": "small: its audit has switched it off"}


async def test_a_model_that_comes_back_answers_again() -> None:
    scene = Scene(middle="probation")
    scene.error = OutOfService("middle is being loaded again")
    scene.gone.add("middle")
    await scene.frame(0, 4)
    assert (scene.plan.variant, scene.asked()) == ("middle", {"middle": 4, "big": 4})
    assert scene.answer.declined == {"variant": "middle is not there"}
    scene.gone.clear()
    regions = await scene.frame(1, 4)
    assert {region.attributes[0].model.name for region in regions} == {"middle"}


async def test_where_the_backend_of_the_oracle_is_down_the_first_that_can_answers_proven_or_not() -> None:
    scene = Scene()
    scene.error = BackendDown("backend gpu: away")
    scene.gone |= {"big", "middle"}
    regions = await scene.frame(0, 2)
    assert {region.attributes[0].model.name for region in regions} == {"small"}
    assert scene.plan.variant == "small"
    assert scene.answer.declined["variant"] == "small answers, proven or not: backend gpu: away"
    scene.gone.add("small")
    with pytest.raises(BackendDown, match="away"):
        await scene.frame(1, 2)
    scene.gone.clear()
    await scene.frame(2, 2)
    assert scene.asked() == {"big": 2}
