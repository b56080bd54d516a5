"""Which planner a query gets, from what is known of its models, and what is measured where nothing is."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from operators.decision import Decision
from operators.testing import card_of
from pipelines.assembly.choices import Tables
from pipelines.assembly.planners import CHECKED_S, planner
from pipelines.planning.planner import Planner, Start, Step
from pipelines.planning.replanning import Replanning
from pipelines.query.dag import Dag, compile_dag
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array
from serving.errors import BadInput, ModelError
from serving.profiling.in_service import BATCHES, MOMENTS, RUNS_ELSEWHERE
from serving.scheduling.requests import Urgency
from serving.variants.timings import VariantFigures, least
from serving.variants.variant import ON
from tests.fake_clock import FakeClock
from tests.pipelines.queries import DETECT, TRACK, TYPE, query
from tests.turns import turns, until


class Engine:
    """Knows of models what a test says, and measures what it is asked to."""

    def __init__(self, known: Mapping[str, VariantFigures | ModelError] | None = None, broken: str = "") -> None:
        self.known, self.broken = dict(known or {}), broken
        self.kept: dict[str, Mapping[int, float]] = {}
        self.moments: dict[str, list[Mapping[int, float]]] = {}
        self.urgencies: list[Urgency] = []
        self.asked = Counter[str]()
        """Pictures by model."""

    def card(self, model: str) -> ModelCard:
        return card_of(model.partition(ON)[0])

    def measured(self, model: str) -> VariantFigures | None:
        found = self.known.get(model)
        if isinstance(found, ModelError):
            raise found
        return found

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        self.kept[model] = tail_s
        self.moments.setdefault(model, []).append(tail_s)
        before = self.known.get(model)
        known_s = [before.tail_s] if isinstance(before, VariantFigures) else []
        moments = [*known_s, *self.moments[model]]
        return VariantFigures(least(moments), None, moments=len(moments))

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        if model == self.broken:
            raise ModelError("it has no weights")
        self.urgencies.append(urgency)
        self.asked[model] += len(batch)
        return []


def dag(*models: str) -> Dag:
    return compile_dag(query(DETECT, TRACK, {**TYPE, "model": list(models)}))


def known(ms: float) -> VariantFigures:
    return VariantFigures({1: ms / 1000, 8: 8 * ms / 1000}, 0.9)


async def test_one_model_a_node_leaves_nothing_to_plan() -> None:
    engine = Engine()
    async with planner(dag("large"), engine) as plans:
        assert type(plans) is Planner
    assert engine.kept == {}


async def test_measured_models_are_planned_with() -> None:
    engine = Engine({"large": known(10), "small": known(2)})
    async with planner(dag("large", "small"), engine) as plans:
        assert isinstance(plans, Replanning)
        plans.begins(Start("cam", 0.0, 0.1, False, (), False))
        found = plans.plan(Step("cam", TYPE["name"], ["large", "small"], 0.0, 0.1, 0.0))
    assert [(rung.model, rung.most) for rung in found.ladder] == [("large", 10), ("small", 50)]
    assert found.fallback == "reuse"
    assert engine.urgencies == []


async def test_what_nobody_has_measured_is_measured_in_the_background_and_kept() -> None:
    engine = Engine({"large": known(10)})
    async with planner(dag("large", "small", "middle"), engine) as plans:
        plans.begins(Start("cam", 0.0, 0.1, False, (), False))
        step = Step("cam", TYPE["name"], ["large"], 0.0, 0.1, 0.0)
        assert [rung.model for rung in plans.plan(step).ladder] == ["large"]
        await until(lambda: len(engine.kept) == 2)
        plans.begins(Start("cam", 0.0, 0.1, False, (), False))
        assert [rung.model for rung in plans.plan(step).ladder] == ["large", "small", "middle"]
    assert all(urgency.background for urgency in engine.urgencies)


async def test_a_model_that_cannot_be_measured_is_not_planned_with(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine({"large": known(10)}, broken="small")
    with caplog.at_level(logging.WARNING):
        async with planner(dag("large", "small"), engine) as plans:
            await until(lambda: "cannot be measured" in caplog.text)
            plans.begins(Start("cam", 0.0, 0.1, False, (), False))
            found = plans.plan(Step("cam", TYPE["name"], ["large"], 0.0, 0.1, 0.0))
            assert [rung.model for rung in found.ladder] == ["large"]
    assert "small cannot be measured, so nothing is planned with it: it has no weights" in caplog.text


async def test_times_that_cannot_be_kept_are_planned_with_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine({"large": known(10)})

    def full(model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        raise BadInput("the disk is full")

    engine.keep = full  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING):
        async with planner(dag("large", "small"), engine) as plans:
            await until(lambda: bool(caplog.text))
            plans.begins(Start("cam", 0.0, 0.1, False, (), False))
            found = plans.plan(Step("cam", TYPE["name"], ["large"], 0.0, 0.1, 0.0))
    assert [rung.model for rung in found.ladder] == ["large", "small"]
    assert "small will be measured again: its times cannot be kept: the disk is full" in caplog.text


async def test_measurements_that_cannot_be_used_are_logged_and_made_anew(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine({"large": known(10), "small": ModelError("what was measured of small holds no more")})
    with caplog.at_level(logging.WARNING):
        async with planner(dag("large", "small"), engine):
            await until(lambda: bool(engine.kept))
    assert caplog.text.count("holds no more") == 1
    assert list(engine.kept) == ["small"]


async def test_the_first_listed_model_runs_until_it_was_measured() -> None:
    tables = Tables.read(dag("large", "small"), Engine({"small": known(2)}).measured)
    assert tables.ready() == {}
    assert tables.unknown == ["large"]


async def test_measuring_ends_with_the_block() -> None:
    engine = Engine()

    async def never(model: str, batch: Array, urgency: Urgency) -> list[Array]:
        await asyncio.Event().wait()
        return []

    engine.infer = never  # type: ignore[method-assign]
    async with planner(dag("large", "small"), engine):
        await asyncio.sleep(0)
    assert engine.kept == {}


class Loaded(Engine):
    """Its batches take as long as the test says, by a clock that is moved by hand."""

    def __init__(self, clock: FakeClock, known: Mapping[str, VariantFigures | ModelError] | None = None) -> None:
        super().__init__(known)
        self.clock, self.takes_s = clock, 0.053

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        self.clock.advance(self.takes_s)
        return await super().infer(model, batch, urgency)


async def pass_until(clock: FakeClock, condition: Callable[[], bool], most_s: float) -> None:
    began_s = clock.monotonic_s()
    while not condition() and clock.monotonic_s() - began_s < most_s:
        clock.advance(CHECKED_S)
        await turns(5)


def first_s(plans: Planner) -> float:
    """Seconds for one object that the planner counts on for the small model."""
    assert isinstance(plans, Replanning)
    plans.begins(Start("cam", 0.0, 9.0, False, (), False))
    (rung,) = (
        each for each in plans.plan(Step("cam", TYPE["name"], [], 0.0, 9.0, 0.0)).ladder if each.model == "small"
    )
    return rung.takes_s


async def test_what_was_measured_in_a_loaded_moment_is_measured_at_two_more_and_the_least_counts() -> None:
    clock = FakeClock()
    engine = Loaded(clock, {"large": VariantFigures({1: 0.1}, 0.9, moments=MOMENTS)})
    async with planner(dag("large", "small"), engine, clock) as plans:
        await pass_until(clock, lambda: "small" in engine.kept, 10_000)
        assert first_s(plans) == pytest.approx(0.053)
        engine.takes_s = 0.013
        await pass_until(clock, lambda: len(engine.moments["small"]) == 2, 10_000)
        assert first_s(plans) == pytest.approx(0.013)
        engine.takes_s = 0.090
        await pass_until(clock, lambda: len(engine.moments["small"]) == 4, 100_000)
        assert first_s(plans) == pytest.approx(0.013)
    assert len(engine.moments["small"]) == MOMENTS
    assert "large" not in engine.kept


async def test_a_model_elsewhere_is_asked_a_few_times_and_then_its_calls_in_service_tell() -> None:
    clock = FakeClock()
    engine = Loaded(clock, {"large": known(10)})
    async with planner(dag("small on gpu", "small on auto", "large"), engine, clock) as plans:
        await pass_until(clock, lambda: len(engine.moments.get("small on auto", [])) == MOMENTS, 10_000)
        assert len(engine.moments["small on gpu"]) == 1
        assert engine.asked["small on gpu"] == (1 + RUNS_ELSEWHERE) * sum(BATCHES)
        engine.known["small on gpu"] = known(90)
        await pass_until(clock, lambda: False, 2 * CHECKED_S)
        assert isinstance(plans, Replanning)
        plans.begins(Start("cam", 0.0, 9.0, False, (), False))
        ladder = plans.plan(Step("cam", TYPE["name"], [], 0.0, 9.0, 0.0)).ladder
    assert ladder[0].takes_s == pytest.approx(0.09), "as calls of late show"


async def test_a_profile_that_service_contradicts_for_long_is_measured_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock = FakeClock()
    known = VariantFigures({1: 0.053}, 0.9, moments=MOMENTS)
    engine = Loaded(clock, {"large": known, "small": known})
    engine.takes_s = 0.013
    async with planner(dag("large", "small"), engine, clock) as plans:
        assert isinstance(plans, Replanning)
        for _ in range(100):
            plans.arrived("cam", 0.0)
            plans.begins(Start("cam", 0.0, 9.0, False, (), False))
            plans.ended("cam", TYPE["name"], 0.013, Decision("small", objects=1))
        await pass_until(clock, lambda: len(engine.kept) == 2, 10_000)
        assert set(engine.kept) == {"large", "small"}
        assert first_s(plans) == pytest.approx(0.013), "what was learnt against the old times is forgotten"
    assert "small takes 13.0 ms in place of 53.0, measured at another moment" in caplog.messages
