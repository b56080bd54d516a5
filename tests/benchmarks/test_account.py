"""The account of processor time tells work from what is around it; no clock is asserted on, only what is counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from benchmarks.pipeline_parts import account
from benchmarks.pipeline_parts.account import WORK, Account


def burn(seconds: float) -> str:
    """Take processor time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    return "burnt"


@pytest.fixture
def kept(works: SimpleNamespace) -> Account:
    """An account that does not see what threads of earlier tests still do."""
    others = set(threading.enumerate()) - {threading.current_thread()}
    return Account(lambda: set(threading.enumerate()) - others)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A function and an iterator in the places of the product's."""
    owner = SimpleNamespace(burn=burn, Reader=type("Reader", (), {"pictures": lambda self: map(burn, [0.2] * 3)}))
    monkeypatch.setattr(account, "WORK", ((owner, "burn"),))
    monkeypatch.setattr(account, "VideoReader", owner.Reader)
    return owner


def spent(kept: Account, do: Callable[[], object]) -> float:
    before = kept.framework_s()
    do()
    return kept.framework_s() - before


def test_all_that_is_timed_exists() -> None:
    assert all(callable(getattr(owner, name)) for owner, name in WORK)


def test_work_is_not_the_framework_s(works: SimpleNamespace, kept: Account) -> None:
    assert works.burn(0.0) == "burnt"
    assert spent(kept, lambda: works.burn(0.2)) < 0.1
    assert spent(kept, lambda: burn(0.2)) >= 0.2


def test_work_in_other_threads_is_no_more_so(works: SimpleNamespace, kept: Account) -> None:
    go, done = threading.Event(), threading.Event()

    def serve() -> None:
        works.burn(0.2)
        done.set()
        go.wait()

    thread = threading.Thread(target=serve)
    assert spent(kept, lambda: (thread.start(), done.wait())) < 0.1
    go.set()
    thread.join()


def test_iterators_work_while_they_find_the_next(works: SimpleNamespace, kept: Account) -> None:
    found: Iterator[str] = works.Reader().pictures()
    assert spent(kept, lambda: next(found)) < 0.1
    assert list(found) == ["burnt", "burnt"]


@pytest.mark.usefixtures("kept")
def test_errors_come_through(works: SimpleNamespace) -> None:
    with pytest.raises(TypeError):
        works.burn("long")
