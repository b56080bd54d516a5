"""Training beside the frames: on a task of its own, paid, and over at once when the process ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.adaptation.here import Here
from cache_adapt.adaptation.jobs import LOOK_S, WANTED_S, Adaptation
from cache_adapt.adaptation.targets import Target
from cache_adapt.adaptation.triggers import FIRST_SAMPLES, PERIOD_S
from cache_adapt.adaptation.updates import Update
from cache_adapt.adaptation.window import SPAN_S, Rows
from learning.budget import FIRST_S, Budget, unlimited
from pipelines.process.tasks import meanwhile
from serving.common.threads import ThreadTime
from tests.cache_adapt.adaptation.majority import DIMS, OTHERS, SUBJECT, TARGET, Majority
from tests.fake_clock import FakeClock
from tests.turns import turns, until

OWN = replace(SUBJECT, stream="gate")
OWN_TARGET = replace(TARGET, subject=OWN)


class World:
    """What trains here, and its clock."""

    def __init__(self, kind: Majority, budget: Budget | None = None) -> None:
        self.clock, self.kind = FakeClock(), kind
        self.adaptation = Adaptation(kind, budget or unlimited())
        self.here = Here(self.adaptation, self.clock)
        self.elsewhere: Elsewhere = self.here

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with meanwhile(self.here.run()):
            await turns()
            yield

    def see(self, count: int, label: int = 1) -> None:
        for _ in range(count):
            self.elsewhere.offer(OWN, "gate", [label], np.zeros((1, DIMS), np.float16))

    async def look(self, seconds: float = LOOK_S) -> None:
        """Time passes, and whatever is due then is trained."""
        self.elsewhere.want(OWN_TARGET, "gate")
        self.clock.advance(seconds)
        await turns()
        await until(lambda: self.is_waiting())

    def is_waiting(self) -> bool:
        return any(not timer.cancelled for timer in self.clock._timers)


async def test_it_trains_at_150_samples_and_at_each_doubling_and_has_what_is_better() -> None:
    world, trained = World(Majority(least_samples=FIRST_SAMPLES)), []
    async with world.running():
        for count in range(10, 700, 10):
            world.see(10, label=1 if count <= 150 else 2)
            before = len(world.kind.trained)
            await world.look()
            trained += [count] * (len(world.kind.trained) - before)
            if count == 150:
                first = world.elsewhere.newest(OWN_TARGET)
        assert trained == [150, 300, 600]
        second = world.elsewhere.newest(OWN_TARGET)
        assert world.elsewhere.newest(TARGET) is None
    assert first
    assert second
    assert (first.data, second.data) == (b"\x01", b"\x02")
    assert first.version < second.version


@pytest.mark.parametrize(("share", "spent_s"), [(0.0, 0.0), (0.05, 0.5)])
async def test_without_a_budget_nothing_is_trained_and_with_one_it_pays(share: float, spent_s: float) -> None:
    used_s = FIRST_S - 1
    budget = Budget(share, lambda: used_s)
    world = World(Majority(), budget)
    async with world.running():
        world.see(50)
        await world.look()
        assert not world.kind.trained
        used_s = FIRST_S
        await world.look()
    assert budget.spent_s == pytest.approx(spent_s, abs=0.1)
    assert len(world.kind.trained) == bool(share)


async def test_what_a_trainer_raises_costs_one_training(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Majority):
        broken = True

        async def train(self, target: Target, rows: Rows, took: ThreadTime) -> bytes:
            if self.broken:
                raise RuntimeError("out of order")
            return await super().train(target, rows, took)

    kind = Broken()
    world = World(kind)
    async with world.running():
        world.see(50)
        await world.look()
        assert [record.getMessage() for record in caplog.records] == [
            "stream gate, node type: a training of exits failed"
        ]
        kind.broken = False
        world.see(50)
        await world.look()
        assert world.elsewhere.newest(OWN_TARGET) is None, "not at once"
        await world.look(60)
        assert world.elsewhere.newest(OWN_TARGET)


async def test_what_takes_longer_does_not_happen_on_the_event_loop() -> None:
    judged_in = set[int]()

    class Threads(Majority):
        def judge(self, target: Target, data: bytes, held: Rows) -> float:
            judged_in.add(threading.get_ident())
            return super().judge(target, data, held)

    world = World(Threads())
    async with world.running():
        for label in (1, 2):
            world.see(200 * label, label)
            await world.look()
    assert judged_in
    assert threading.get_ident() not in judged_in


async def test_what_nobody_wants_any_more_and_old_samples_go() -> None:
    world = World(Majority())
    async with world.running():
        world.see(50)
        await world.look()
        world.clock.advance(WANTED_S + 1)
        await turns()
        assert world.adaptation.targets == 0
        world.clock.advance(SPAN_S)
        await turns()
        assert world.adaptation.samples == 0


@pytest.mark.parametrize(("data", "made"), [(b"\x01", None), (b"\x02", b"\x01"), (b"garbage", b"\x01")])
async def test_it_goes_on_from_what_was_made_before(data: bytes, made: bytes | None) -> None:
    world = World(Majority())
    before = Update(int(world.clock.now().timestamp()) + 1000, data)
    world.adaptation.published(OWN_TARGET.key, *before, world.clock.now().timestamp())
    assert world.elsewhere.newest(OWN_TARGET) == before
    async with world.running():
        world.see(100)
        await world.look()
        for _ in range(2):
            world.clock.advance(PERIOD_S / 2)
            world.see(100)
            await world.look()
    found = world.elsewhere.newest(OWN_TARGET)
    assert found
    assert found.data == (made or data)
    world.adaptation.published(OWN_TARGET.key, before.version, b"\x03", world.clock.now().timestamp())
    assert world.elsewhere.newest(OWN_TARGET) == found, "what is older does not come back"
    assert (found.version > before.version) == (made is not None)


def test_what_cannot_be_had_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    world = World(Majority())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            world.elsewhere.want(replace(TARGET, spec=OTHERS), "gate")
    assert caplog.messages == ["node type: nothing is trained: there is nothing to say of it"]


def test_samples_are_copies_and_no_number_but_numbers_is_kept() -> None:
    world = World(Majority())
    rows = np.repeat(np.array([[1], [np.nan], [2]], np.float32), DIMS, axis=1)
    world.elsewhere.offer(SUBJECT, "gate", [1, 1, 1], rows)
    rows[:] = 5
    kept, _ = world.adaptation._windows.of(SUBJECT, DIMS).split(
        world.clock.now().timestamp(), 10, np.random.default_rng(0)
    )
    assert kept.features.tolist() == [[1] * DIMS, [2] * DIMS]


def test_what_is_one_streams_alone_is_not_offered_by_another() -> None:
    world = World(Majority())
    with pytest.raises(ValueError, match="yard"):
        world.elsewhere.offer(OWN, "yard", [1], np.zeros((1, DIMS), np.float16))
    with pytest.raises(ValueError, match="yard"):
        world.elsewhere.want(OWN_TARGET, "yard")
