"""Stand-ins are looked for where that pays, from the budget, and given up where they bring nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from learning.budget import FIRST_S, Budget
from operators.testing import FakeEngine, card_of, scores
from pipelines.environment import catalogue
from pipelines.measure.stand_ins.payback import DOUBTS, GAIN
from pipelines.measure.stand_ins.shown import LEAST_ITEMS, ShownItems, Watched
from pipelines.measure.stand_ins.stand_ins import (
    CONTEST_S,
    CONTEST_SHARE,
    FIRST_GAP,
    LOOK_S,
    MOST_FAILURES,
    SOON_S,
    StandIns,
    _Model,
)
from pipelines.query.dag import compiled
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.errors import ModelError, SluiceError
from serving.scheduling.requests import Urgency
from serving.variants.artefacts import identity
from serving.variants.contest import Contender, Contest, machine, read, store
from serving.variants.variant import parse
from tests.fake_clock import FakeClock
from tests.pipelines.queries import query
from tests.turns import turns

MODEL, INT8, BF16 = "vehicle-colour", "vehicle-colour@onnxruntime-int8", "vehicle-colour@openvino-bf16"
ENTRY = Catalogue([SHIPPED]).find(MODEL)
DETECT = {"name": "detect", "task": "detect", "model": "motion"}
COLOUR = {"name": "colour", "task": "recognise", "input": "detect", "model": MODEL}
WORTH_S = 1.01 * CONTEST_S / GAIN
LONG_S = CONTEST_S / CONTEST_SHARE


def says(batch: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    return [scores(["blue"] * len(batch))]


def contest_of(variant: str = BF16, processor_s: float = 0.5, load_s: float = 0.1) -> Contest:
    won = Contender(
        variant=variant,
        identity=ENTRY.card.identity,
        processor_s=processor_s,
        load_s=load_s,
        agreement=1.0,
    )
    return Contest(
        identity=ENTRY.card.identity,
        fingerprints=machine(),
        processor_s=1.0,
        items=64,
        contenders=(won,),
        measured_at="2026",
    )


@dataclass
class Bench:
    """A query's stand-ins, with everything around them in the test's hands."""

    cache: Path
    contest: Contest | Exception = field(default_factory=contest_of)
    """What the next contests find."""
    share: float = 0.5
    used_s: float = 1000.0
    held: int = 0
    clock: FakeClock = field(default_factory=FakeClock)
    engine: FakeEngine = field(init=False)
    stand_ins: StandIns = field(init=False)
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        known = {name.replace("-", "_"): (card_of(MODEL), says) for name in (MODEL, INT8, BF16)}
        self.engine = FakeEngine(**known)
        self.engine.costs_s[MODEL] = 0.1
        wanted = compiled(query(DETECT, COLOUR, variants="auto"), catalogue([]))
        self.stand_ins = StandIns(wanted, self.cache, self.engine, self.clock)
        self.budget = Budget(self.share, lambda: self.used_s)

    async def hold(self, each: _Model, use: ShownItems) -> tuple[Contest, float]:
        self.held += 1
        if isinstance(self.contest, Exception):
            raise self.contest
        return self.contest, 3.0

    async def takes(self, seconds: float) -> None:
        """The network takes so many processor seconds for looks at frames."""
        assert isinstance(self.stand_ins.engine, Watched)
        await self.looks()  # pictures are kept from then on
        for _ in range(LEAST_ITEMS):
            self.engine.costs_s[MODEL] = seconds / LEAST_ITEMS
            await self.stand_ins.engine.infer(MODEL, np.zeros((1, 3, 4, 4), np.float32), Urgency(1e9))

    async def looks(self, count: int = 1) -> None:
        for _ in range(count):
            await turns()
            self.clock.advance(LOOK_S)
            await turns()

    @property
    def chosen(self) -> dict[str, str]:
        return {node: each.variant for node, each in self.stand_ins.chosen.items()}


@asynccontextmanager
async def running(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setattr(bench.stand_ins, "_held", bench.hold)
    task = asyncio.create_task(bench.stand_ins.run(bench.budget))
    try:
        yield bench
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


Opened = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    # The machine may have more or fewer runtimes than the test is about.
    monkeypatch.setattr("pipelines.measure.stand_ins.roles.installed", lambda engine: True)
    return lambda **keys: Bench(tmp_path, **keys)


async def test_a_contest_is_held_once_it_would_have_paid_and_its_winner_is_tried(
    bench: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench(), monkeypatch) as here:
        assert here.stand_ins.by_node["colour"] == (INT8, BF16, "vehicle-colour@openvino-int8")
        await here.takes(0.9 * WORTH_S)
        await here.looks(3)
        assert here.held == 0
        await here.takes(0.2 * WORTH_S)
        await here.looks()
        assert (here.held, here.chosen) == (1, {})
        await here.looks()
        assert here.chosen == {"colour": BF16}
        assert here.engine.loaded == [BF16]
        assert here.budget.spent == {"opening": 3.0}
        assert "0.50" not in here.stand_ins.chosen["colour"].why
        assert "500.00 ms of a processor for one item in place of 1000.00" in here.stand_ins.chosen["colour"].why
        assert read(ENTRY, here.cache) is not None
        await here.takes(WORTH_S)
        assert not here.stand_ins._use(MODEL).items, "nothing is kept for a contest that was held"
    async with running(bench(), monkeypatch) as again:
        await again.looks()
        await again.takes(WORTH_S)
        assert not again.stand_ins._use(MODEL).items


async def test_pictures_are_kept_from_half_of_the_way_on(bench: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(bench(used_s=LONG_S / 2 - 1), monkeypatch) as here:
        await here.takes(1.0)
        assert isinstance(here.stand_ins.engine, Watched)
        use = here.stand_ins.engine.uses[MODEL]
        assert not use.items
        here.used_s += 2
        await here.takes(1.0)
        assert use.is_shown


@pytest.mark.parametrize(("share", "used_s"), [(0.5, LONG_S), (0.005, 2 * LONG_S)])
async def test_no_contest_is_held_that_is_more_than_a_trifle_or_that_the_budget_does_not_pay(
    bench: Opened, monkeypatch: pytest.MonkeyPatch, share: float, used_s: float
) -> None:
    async with running(bench(share=share, used_s=used_s - 1), monkeypatch) as here:
        await here.takes(WORTH_S)
        await here.looks(5)
        assert here.held == 0
        here.used_s += 2
        await here.looks()
        assert here.held == 1


async def test_what_was_found_before_is_not_measured_again(bench: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store(contest_of(), ENTRY, bench().cache)
    async with running(bench(), monkeypatch) as here:
        assert here.stand_ins.by_node == {"colour": (BF16,)}
        await here.looks(3)
        assert (here.chosen, here.engine.loaded) == ({}, [])  # a short run opens nothing
        await here.takes(4.1)
        await here.looks()
        assert here.chosen == {"colour": BF16}
    assert here.held == 0


@pytest.mark.parametrize(("items", "proven"), [(47, False), (64, True)])
async def test_what_a_contest_has_proven_may_answer_at_once(
    bench: Opened, monkeypatch: pytest.MonkeyPatch, items: int, proven: bool
) -> None:
    store(msgspec.structs.replace(contest_of(), items=items), ENTRY, bench().cache)
    async with running(bench(), monkeypatch) as here:
        await here.takes(4.1)
        await here.looks()
        assert here.stand_ins.chosen["colour"].proven is proven


@pytest.mark.parametrize(("items", "share", "opened"), [(64, 0.5, [BF16]), (47, 0.5, []), (64, 0.0, [])])
async def test_what_is_proven_is_loaded_as_any_network_once_that_pays_unless_all_of_learning_is_switched_off(
    bench: Opened, monkeypatch: pytest.MonkeyPatch, items: int, share: float, opened: list[str]
) -> None:
    store(msgspec.structs.replace(contest_of(), items=items), ENTRY, bench().cache)
    async with running(bench(share=share, used_s=FIRST_S / 2), monkeypatch) as here:
        await here.takes(4.1)
        await turns()
        here.clock.advance(SOON_S)
        await turns()
        assert here.engine.loaded == opened
        assert here.budget.spent == {}


async def test_what_another_process_has_found_meanwhile_is_taken(
    bench: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench(), monkeypatch) as here:
        await here.takes(WORTH_S)
        store(contest_of(), ENTRY, here.cache)
        await here.looks(2)
        assert (here.held, here.chosen) == (0, {"colour": BF16})


async def test_where_nothing_wins_the_network_answers_and_nothing_more_is_tried(
    bench: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench(contest=contest_of(processor_s=0.99)), monkeypatch) as here:
        await here.takes(10 * WORTH_S)
        await here.looks(10)
        assert (here.held, here.chosen, here.engine.loaded) == (1, {}, [])
    again = bench()
    assert again.stand_ins.by_node == {}
    assert again.stand_ins.engine is again.engine  # nothing watches


async def test_a_contest_that_comes_to_nothing_is_tried_ever_more_seldom_and_paid(
    bench: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench(contest=SluiceError("the process died")), monkeypatch) as here:
        await here.takes(WORTH_S)
        await here.looks(1 + FIRST_GAP)
        assert here.held == 2
        await here.looks(FIRST_GAP)
        assert here.held == 2
        await here.looks(FIRST_GAP << (MOST_FAILURES + 1))
        assert here.held == MOST_FAILURES
        assert here.budget.spent["opening"] == MOST_FAILURES * CONTEST_S


async def test_a_failure_of_any_kind_costs_the_stand_in_alone(
    bench: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(bench(contest=KeyError("a mistake")), monkeypatch) as here:
        await here.takes(WORTH_S)
        await here.looks(20)
        assert here.held == 1
        assert "vehicle-colour gets no stand-in" in caplog.text


async def test_a_winner_that_cannot_be_opened_is_left_alone(
    bench: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store(contest_of(), ENTRY, bench().cache)
    here = bench()

    async def refused(model: str) -> float:
        raise ModelError(f"{model}: its file is damaged")

    monkeypatch.setattr(here.engine, "load", refused)
    async with running(here, monkeypatch):
        await here.takes(WORTH_S)
        await here.looks(5)
    assert here.chosen == {}
    assert caplog.text.count("its file is damaged") == 1


async def test_where_contests_cannot_be_kept_the_process_keeps_its_own(
    bench: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    here = bench()
    (here.cache / "variants").write_text("a file where a folder should be")
    with caplog.at_level(logging.INFO):
        async with running(here, monkeypatch):
            await here.takes(WORTH_S)
            await here.looks(3)
            assert here.chosen == {"colour": BF16}
    assert "its variants are compared at every start" in caplog.text


async def test_a_stand_in_that_is_no_cheaper_in_service_is_given_up(
    bench: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(contest_of(), ENTRY, bench().cache)
    async with running(bench(), monkeypatch) as here:
        await here.takes(16.0)
        await here.looks(1)
        here.engine.costs_s[BF16] = 0.9
        await here.looks(2 * DOUBTS)
        assert here.chosen == {"colour": BF16}
        here.engine.costs_s[BF16] = 0.96
        await here.looks(DOUBTS - 1)
        assert here.chosen == {"colour": BF16}
        await here.looks(1)
        assert here.chosen == {}


def test_a_contest_of_a_file_that_is_gone_lists_all_candidates_again(bench: Opened, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        identity(ENTRY, parse(INT8), tmp_path)
    store(contest_of(INT8), ENTRY, tmp_path)
    assert len(bench().stand_ins.by_node["colour"]) == 3
