"""Which planner a query gets, from what is known of its models, and what is measured where nothing is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import pytest

from operators.testing import card_of
from pipelines.assembly.planners import planner
from pipelines.assembly.tables import Tables
from pipelines.planning.planner import FirstListed, Start, Step
from pipelines.planning.replanning import Replanning
from pipelines.query.dag import Dag, compile_dag
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array
from serving.errors import BadInput, ModelError
from serving.scheduling.urgency import Urgency
from serving.variants.timings import Measured
from tests.pipelines.queries import DETECT, TRACK, TYPE, query
from tests.turns import until


class Engine:
    """Knows of models what a test says, and measures what it is asked to."""

    def __init__(self, known: Mapping[str, Measured | ModelError] | None = None, broken: str = "") -> None:
        self.known, self.broken = dict(known or {}), broken
        self.kept: dict[str, Mapping[int, float]] = {}
        self.urgencies: list[Urgency] = []

    def card(self, model: str) -> ModelCard:
        return card_of(model)

    def measured(self, model: str) -> Measured | None:
        found = self.known.get(model)
        if isinstance(found, ModelError):
            raise found
        return found

    def keep(self, model: str, tail_s: Mapping[int, float]) -> None:
        self.kept[model] = tail_s

    async def infer(self, model: str, batch: Array, urgency: Urgency) -> list[Array]:
        if model == self.broken:
            raise ModelError("it has no weights")
        self.urgencies.append(urgency)
        return []


def dag(*models: str) -> Dag:
    return compile_dag(query(DETECT, TRACK, {**TYPE, "model": list(models)}))


def known(ms: float) -> Measured:
    return Measured({1: ms / 1000, 8: 8 * ms / 1000}, 0.9)


async def test_one_model_a_node_leaves_nothing_to_plan() -> None:
    engine = Engine()
    async with planner(dag("large"), engine) as plans:
        assert isinstance(plans, FirstListed)
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

    def full(model: str, tail_s: Mapping[int, float]) -> None:
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
