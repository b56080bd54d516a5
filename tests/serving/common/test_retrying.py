"""One loop for what is tried again, on the event loop and in a thread."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable
from contextlib import suppress
from weakref import ref

import pytest

from serving.common import retrying as retrying_room
from serving.common.retrying import Backoff, Persistence, retry, retrying
from tests.at_once import AT_ONCE


class Work:
    """Fails as it is told, then succeeds."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.told: list[str] = []

    def __call__(self) -> str:
        if self.failures:
            raise self.failures.pop(0)
        return "made"

    async def awaited(self) -> str:
        return self()

    def tell(self, error: Exception, left_s: float) -> None:
        self.told.append(str(error))


def _in_thread(work: Work, persistence: Persistence) -> str:
    return retry(work, (OSError, KeyError), persistence, work.tell)


def _on_loop(work: Work, persistence: Persistence) -> str:
    return asyncio.run(retrying(work.awaited, (OSError, KeyError), persistence, work.tell))


Loop = Callable[[Work, Persistence], str]
both = pytest.mark.parametrize("loop", [_in_thread, _on_loop])


@both
def test_it_is_tried_until_it_works(loop: Loop) -> None:
    work = Work(OSError("one"), KeyError("two"), OSError("three"))
    assert loop(work, Persistence(AT_ONCE)) == "made"
    assert work.told == ["one", "'two'", "three"]


@both
def test_another_error_ends_it(loop: Loop) -> None:
    work = Work(OSError("one"), ValueError("two"))
    with pytest.raises(ValueError, match="two"):
        loop(work, Persistence(AT_ONCE))
    assert work.told == ["one"]


@both
def test_the_last_error_is_raised_and_nobody_is_told_of_another_attempt(loop: Loop) -> None:
    work = Work(OSError("one"), OSError("two"), OSError("three"))
    with pytest.raises(OSError, match="two"):
        loop(work, Persistence(AT_ONCE, attempts=2))
    assert work.told == ["one"]


class Told(OSError):
    """Can be watched."""


@pytest.mark.parametrize("awaited", [False, True])
async def test_the_last_error_is_let_go(awaited: bool) -> None:
    """Not only when Python looks for circles: it holds all that was at work when it was raised."""
    work, terms = Work(Told("one"), Told("two")), Persistence(AT_ONCE, attempts=2)
    kept = ref(work.failures[-1])
    gc.collect()
    gc.disable()
    try:
        with suppress(Told):
            if awaited:
                await retrying(work.awaited, OSError, terms, work.tell)
            retry(work, OSError, terms, work.tell)
        assert not work.failures
        assert kept() is None
    finally:
        gc.enable()


@both
def test_no_time_means_one_attempt(loop: Loop) -> None:
    with pytest.raises(OSError, match="one"):
        loop(Work(OSError("one"), OSError("two")), Persistence(AT_ONCE, within_s=0.0))


def test_pauses_are_those_of_the_backoff_and_may_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying_room, "_RNG", random.Random(1))
    paused_s: list[float] = []

    def pause(seconds: float) -> None:
        paused_s.append(seconds)
        if len(paused_s) == 3:
            raise KeyboardInterrupt

    work = Work(*[OSError("away")] * 10)
    with pytest.raises(KeyboardInterrupt):
        retry(work, OSError, Persistence(Backoff(first_s=1, max_s=3)), work.tell, pause)
    rng = random.Random(1)
    assert paused_s == [rng.uniform(0.5, 1) * longest_s for longest_s in (1, 2, 3)]
