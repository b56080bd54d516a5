"""The cut network is opened once, where that can be paid; where it cannot be run the oracle answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from cache_adapt.learned.specs import ExitCut
from learning.budget import FIRST_S, Budget, unlimited
from operators.recognise.exits.cut_oracle import CUT_SHARE, LEAST_LOOK_S, MOST_CUT_SHARE, OPENING_S, CutOracle
from operators.testing import FakeEngine, card_of, scores
from serving.engines.exits import RowPolicy
from serving.errors import ModelError, OutOfService
from serving.scheduling.requests import Urgency
from tests.operators.recognise.exits.crossing import CUT, CUTS, Crossing
from tests.turns import settled


class Place:
    """An oracle that is to be cut."""

    def __init__(
        self, look_s: float = 0.01, weights_bytes: int = 0, budget: Budget | None = None, has_exits: bool = False
    ) -> None:
        self.engine = FakeEngine(net=(card_of("net"), lambda batch: [scores(["red"] * len(batch))]))
        self.engine.costs_s = {"net": look_s}
        self.sought = list[str]()
        self.fails: Exception | None = None
        self.budget = budget or unlimited()
        self.cut = CutOracle(self.engine, "net", self._places, self.budget, weights_bytes, has_exits)

    def _places(self) -> Sequence[ExitCut]:
        self.sought.append(threading.current_thread().name)
        if self.fails is not None:
            raise self.fails
        return CUTS


async def test_it_is_opened_once_beside_the_looks_and_in_a_thread() -> None:
    place = Place()
    for _ in range(3):
        place.cut.open_where_due()
    assert not place.cut.is_open
    assert place.cut.cuts == ()
    await settled()
    place.cut.open_where_due()
    await settled()
    assert (place.cut.is_open, place.cut.cuts, place.engine.loaded) == (True, ("early", "late"), [CUT])
    (thread,) = place.sought
    assert thread != threading.main_thread().name


async def test_nothing_is_opened_before_it_is_known_what_a_look_costs() -> None:
    place = Place()
    place.engine.costs_s = {}
    place.cut.open_where_due()
    assert place.cut.why_not is None
    place.engine.costs_s = {"net": 0.01}
    assert place.sought == []
    place.cut.open_where_due()
    await settled()
    assert place.cut.is_open


async def test_opening_is_paid_by_what_it_took() -> None:
    used_s = [FIRST_S - 1]
    place = Place(weights_bytes=100_000_000, budget=Budget(0.2, lambda: used_s[0]))
    place.engine.opening_s = 0.5
    assert place.cut.opening_s == pytest.approx(OPENING_S + 1.8)
    place.cut.open_where_due()
    assert place.sought == [], "the process has not run for long"
    used_s[0] = FIRST_S
    place.cut.open_where_due()
    assert place.budget.left_s == pytest.approx(0.2 * FIRST_S - place.cut.opening_s)
    await settled()
    assert place.budget.spent["opening"] == pytest.approx(0.5, abs=0.2)
    assert place.budget.left_s == pytest.approx(0.2 * FIRST_S - place.budget.spent_s)


async def test_where_exits_are_there_already_it_is_opened_at_once_and_nothing_is_paid() -> None:
    place = Place(weights_bytes=100_000_000, budget=Budget(0.05, lambda: 1.0), has_exits=True)
    place.engine.opening_s = 0.5
    place.cut.open_where_due()
    await settled()
    assert place.cut.is_open
    assert place.budget.spent == {}
    off = Place(budget=Budget(0.0, lambda: 1000.0), has_exits=True)
    off.cut.open_where_due()
    assert off.sought == [], "all of learning is switched off"


async def test_what_cannot_be_paid_is_not_opened() -> None:
    for share in (0.0, 0.001):
        place = Place(budget=Budget(share, lambda: 100.0))
        place.cut.open_where_due()
        await settled()
        assert (place.cut.is_open, place.sought, place.cut.why_not) == (False, [], None)


@pytest.mark.parametrize("fault", [ModelError, RuntimeError])
async def test_a_network_that_cannot_be_cut_says_why_and_is_not_tried_again(fault: type[Exception]) -> None:
    place = Place()
    place.fails = fault("net has no layer at which an exit could read")
    for _ in range(3):
        place.cut.open_where_due()
        await settled()
    assert (place.cut.is_open, len(place.sought)) == (False, 1)
    assert place.cut.why_not == "net has no layer at which an exit could read"
    assert place.budget.spent == {"opening": OPENING_S}


async def test_what_is_being_opened_is_given_up_at_the_end_and_paid() -> None:
    place, loading = Place(budget=Budget(1.0, lambda: 100.0)), asyncio.Event()

    async def load(_model: str) -> float:
        loading.set()
        await asyncio.Event().wait()
        return 0.0

    place.engine.load = load  # type: ignore[method-assign]
    place.cut.open_where_due()
    await loading.wait()
    await place.cut.close()
    assert not place.cut.is_open
    assert place.budget.left_s == pytest.approx(100.0 - place.cut.opening_s)


def test_exits_are_of_no_use_in_a_network_that_is_fast() -> None:
    place = Place(look_s=0.0004)
    assert place.cut.why_not is not None
    assert "a look of net takes 0.90 ms of processor time, and below 3.5 ms cuts and lookups" in place.cut.why_not
    place.cut.open_where_due()
    assert place.sought == []
    place.engine.costs_s = {"net": LEAST_LOOK_S}
    assert place.cut.why_not is None


async def test_a_look_costs_what_looks_through_the_cut_network_have_cost_of_late() -> None:
    place = Place()
    assert place.cut.look_s == place.cut.whole_s == pytest.approx(0.0105)
    await place.cut.open()
    assert place.cut.look_s == place.cut.whole_s
    place.engine.costs_s[CUT] = 0.004
    assert (place.cut.look_s, place.cut.whole_s) == (pytest.approx(0.0045), pytest.approx(0.0105))


@pytest.mark.parametrize(
    ("through_s", "share"), [(0.004, CUT_SHARE), (0.0101, CUT_SHARE), (0.0105, 0.0005 / 0.0105), (0.03, MOST_CUT_SHARE)]
)
async def test_what_a_cut_costs_is_measured_within_bounds(through_s: float, share: float) -> None:
    place = Place()
    assert place.cut.trial_s == pytest.approx(CUT_SHARE * 0.0105)
    await place.cut.open()
    place.engine.costs_s[CUT] = through_s
    assert place.cut.trial_s == pytest.approx(share * 0.0105)


async def test_without_exits_all_looks_run_on() -> None:
    place = Place()
    await place.cut.open()
    found = await place.cut.run([np.full((8, 8, 3), 9, np.uint8)] * 2, RowPolicy(), Urgency(1.0))
    assert found.left.tolist() == [False, False]
    assert found.place.tolist() == [len(CUTS)] * 2
    assert [tap.shape for tap in found.taps] == [(2, 3), (2, 3)]


async def test_where_it_fails_in_service_the_oracle_answers_for_the_same_looks_and_from_then_on() -> None:
    crossing = Crossing()
    assert (await crossing.passing(["blue", "blue", "green"], 100))["specialised"]
    infer = crossing.engine.infer

    async def broken(model: str, *rest: object, **more: object) -> list[np.ndarray]:
        if model == CUT:
            raise OutOfService("the driver is gone")
        return await infer(model, *rest, **more)  # type: ignore[arg-type]

    crossing.engine.infer = broken  # type: ignore[assignment, method-assign]
    before = crossing.looks("net")
    assert await crossing.frame("blue", "red") == ["blue", "red"]
    assert crossing.looks("net") == before + 2
    assert await crossing.passing(["green"], 10) == {"oracle": 40}
    assert crossing.cut.why_not == "the driver is gone"
    assert crossing.plan().specialization is not None
    assert crossing.plan().specialization.reason == "the driver is gone"
    assert crossing.found_cuts == 1
