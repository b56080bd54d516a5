"""The cheap waits do what Faust's do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mode import Service
from mode.services import WaitResults

from operators.transports.waits import CheapWaits


class Counting(Service):
    """Counts how often mode's own wait, with its tasks, was needed."""

    waited = 0
    slept = 0

    async def wait_first(self, *waits: Any, timeout: Any = None) -> WaitResults:  # noqa: ASYNC109 - mode's
        self.waited += 1
        return await super().wait_first(*waits, timeout=timeout)

    async def sleep(self, n: Any) -> None:
        self.slept += 1
        await super().sleep(n)


class Waiting(CheapWaits, Counting):
    """As the consumers are made."""


@pytest.fixture
async def service() -> Waiting:
    return Waiting()


async def answer() -> int:
    return 7


async def after(event: asyncio.Event) -> int:
    await event.wait()
    await asyncio.sleep(0)
    return 7


async def fail() -> None:
    raise KeyError("broken")


async def test_what_need_not_wait_is_done_without_tasks(service: Waiting) -> None:
    before = asyncio.all_tasks()
    found = await service.wait_first(answer(), asyncio.Event().wait())
    assert found.results == [7]
    assert not found.stopped
    assert service.waited == 0
    assert asyncio.all_tasks() == before


async def test_what_has_to_wait_goes_on_where_it_was(service: Waiting) -> None:
    room = asyncio.Event()
    asyncio.get_running_loop().call_soon(room.set)
    found = await service.wait_first(after(room), asyncio.Event().wait())
    assert found.results == [7]
    assert service.waited == 1


async def test_another_wait_may_be_over_first(service: Waiting) -> None:
    suspended = asyncio.Event()
    asyncio.get_running_loop().call_soon(suspended.set)
    found = await service.wait_first(after(asyncio.Event()), suspended.wait())
    assert found.results == [True]


async def test_a_timeout_ends_the_wait(service: Waiting) -> None:
    found = await service.wait_first(after(asyncio.Event()), timeout=0.01)
    assert found.results == []


async def test_a_stopped_service_waits_no_longer(service: Waiting) -> None:
    service._stopped.set()
    found = await service.wait_first(after(asyncio.Event()))
    assert found.stopped


async def test_errors_come_through(service: Waiting) -> None:
    with pytest.raises(KeyError, match="broken"):
        await service.wait_first(fail(), asyncio.Event().wait())


async def test_events_are_waited_for_as_ever(service: Waiting) -> None:
    event = asyncio.Event()
    event.set()
    assert (await service.wait_first(event.wait(), timeout=1)).results == [True]
    assert (await service.wait_first(event, timeout=1)).results == [True]


async def test_sleep_without_length_only_gives_others_a_turn(service: Waiting) -> None:
    turns: list[str] = []
    asyncio.get_running_loop().call_soon(turns.append, "other")
    await service.sleep(0)
    assert turns == ["other"]
    assert service.slept == 0
    await service.sleep(0.001)
    assert service.slept == 1
