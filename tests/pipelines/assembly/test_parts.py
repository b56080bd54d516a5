"""What is opened for a query is closed, whatever happens in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipelines.assembly import environment
from pipelines.assembly.environment import Audits, Environment
from pipelines.assembly.parts import Setting, assembled
from pipelines.environment import catalogue
from pipelines.query.budgets import LearningSpec
from pipelines.query.dag import compiled
from serving.backend import Backend
from serving.errors import ModelError
from tests.pipelines.queries import DETECT, TRACK, TYPE, query

ALL = TYPE | {"model": ["vehicle-type-compact", "vehicle-type"], "specialize": True}
OFF = {"specialize": False, "caches": False}


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was closed, in its order."""
    order: list[str] = []
    stop, close = Backend.stop, environment.Learning.close

    async def stopped(engine: Backend) -> None:
        order.append("engine")
        await stop(engine)

    async def learnt(learning: environment.Learning) -> None:
        order.append("learning")
        await close(learning)

    monkeypatch.setattr(Backend, "stop", stopped)
    monkeypatch.setattr(environment.Learning, "close", learnt)
    return order


async def test_a_node_with_all_shortcuts_has_one_chain_and_is_closed(closed: list[str]) -> None:
    wanted = query(DETECT, TRACK, ALL)
    async with assembled(compiled(wanted, catalogue([])), Setting()) as parts:
        assert list(parts.shortcuts.nodes) == ["type"]
        assert closed == []
    assert sorted(closed) == ["engine", "learning"]


async def test_a_node_that_answers_for_tracks_is_registered_without_shortcuts_too(closed: list[str]) -> None:
    wanted = query(DETECT, TRACK, TYPE | OFF)
    async with assembled(compiled(wanted, catalogue([])), Setting()) as parts:
        assert list(parts.shortcuts.nodes) == ["type"]


@pytest.mark.parametrize("change", [{"input": "detect"}, {"answer": "look"}])
@pytest.mark.parametrize(("off", "budget"), [(OFF, "5%"), ({}, 0)])
async def test_a_node_of_looks_without_shortcuts_is_not_registered(
    closed: list[str], change: dict[str, str], off: dict[str, bool], budget: str | int
) -> None:
    """Without a budget nothing would ever prove exits."""
    wanted = query(DETECT, TRACK, TYPE | change | off, learning={"budget": budget}, variants=False)
    async with assembled(compiled(wanted, catalogue([])), Setting()) as parts:
        assert parts.shortcuts.nodes == {}
    assert closed == ["engine"]


async def test_a_node_of_looks_may_come_to_have_a_stand_in(closed: list[str]) -> None:
    wanted = query(DETECT, TRACK, TYPE | OFF | {"answer": "look"}, variants="auto")
    async with assembled(compiled(wanted, catalogue([])), Setting()) as parts:
        assert list(parts.shortcuts.nodes) == ["type"]


@pytest.mark.parametrize("change", [{"input": "detect"}, {"answer": "look"}, {}])
async def test_unless_a_query_says_otherwise_a_node_may_come_to_have_exits(
    closed: list[str], change: dict[str, str]
) -> None:
    wanted = query(DETECT, TRACK, TYPE | change)
    async with assembled(compiled(wanted, catalogue([])), Setting()) as parts:
        assert list(parts.shortcuts.nodes) == ["type"]
        assert parts.shortcuts.nodes["type"].plans() == {}
    assert sorted(closed) == ["engine", "learning"]


async def test_the_query_says_what_learning_and_audits_may_cost(
    closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = query(DETECT, TRACK, ALL).model_copy(update={"learning": LearningSpec(budget="25%")})
    seen, make = list[Audits](), Environment.of

    def of(*args: Any, audits: Audits, **more: Any) -> Environment:
        seen.append(audits)
        return make(*args, audits=audits, **more)

    monkeypatch.setattr(Environment, "of", of)
    monkeypatch.setattr("time.process_time", lambda: 1000.0)
    async with assembled(compiled(wanted, catalogue([])), Setting()):
        assert seen[0].budget.left_s == pytest.approx(200.0), "a quarter of all the rest"


async def test_what_fails_inside_is_raised_when_all_is_closed(closed: list[str]) -> None:
    wanted = query(DETECT, TRACK, ALL)
    with pytest.raises(asyncio.CancelledError):
        async with assembled(compiled(wanted, catalogue([])), Setting()):
            raise asyncio.CancelledError
    assert sorted(closed) == ["engine", "learning"]


@pytest.mark.parametrize(("node", "opened"), [({"specialize": True}, ["engine", "learning"]), (OFF, ["engine"])])
async def test_a_model_that_is_not_there_is_an_error_and_leaves_nothing_open(
    closed: list[str], node: dict[str, Any], opened: list[str]
) -> None:
    wanted = query(DETECT, TRACK, TYPE | {"model": "no-such-model", **node})
    with pytest.raises(ModelError, match="no-such-model"):
        async with assembled(compiled(wanted, catalogue([])), Setting()):
            pass
    assert sorted(closed) == opened
