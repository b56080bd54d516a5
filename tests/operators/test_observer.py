"""Several observers behind one: every hook reaches those that want it, and none of them can do harm."""

from __future__ import annotations

import inspect
import logging

import pytest

from operators.observer import HOOKS, UNOBSERVED, Observer, Observers


class Audits(Observer):
    """Wants one hook."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, str, bool]] = []

    def audit_done(self, stream: str, node: str, kind: str, agrees: bool) -> None:
        self.heard.append((stream, node, kind, agrees))


class Broken(Observer):
    """Raises, naming a secret."""

    def stream_dropped(self, stream: str) -> None:
        raise ValueError(f"no {stream}; password=hunter2")

    def node_ran(self, stream: str, node: str, took_ms: float, regions: int) -> None:
        raise ValueError("no clock")


class Dropped(Observer):
    def __init__(self) -> None:
        self.streams: list[str] = []

    def stream_dropped(self, stream: str) -> None:
        self.streams.append(stream)


def test_each_observer_hears_what_it_wants() -> None:
    one, other, dropped = Audits(), Audits(), Dropped()
    several = Observers([one, dropped, other])
    several.audit_done("gate", "kind", "reused", True)
    several.stream_dropped("gate")
    assert one.heard == other.heard == [("gate", "kind", "reused", True)]
    assert dropped.streams == ["gate"]


def test_observers_may_be_nested() -> None:
    dropped = Dropped()
    Observers([Observers([dropped]), Observers()]).stream_dropped("gate")
    assert dropped.streams == ["gate"]


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_nobody_wants_is_the_one_that_does_nothing(hook: str) -> None:
    for nobody in (UNOBSERVED, Observers([Observer()]), Observers([Observers()])):
        assert hook not in vars(nobody)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_says_when_and_by_whom_it_is_called(hook: str) -> None:
    text = " ".join(inspect.getdoc(getattr(Observer, hook)).split())  # type: ignore[union-attr]
    assert any(where in text for where in ("event loop", "capture thread", "device's thread"))


def test_one_that_raises_disturbs_nobody_and_is_logged_once_for_each_hook(caplog: pytest.LogCaptureFixture) -> None:
    before, after = Dropped(), Dropped()
    several = Observers([before, Broken(), after])
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            several.stream_dropped("gate")
            several.node_ran("gate", "kind", 1.0, 2)
    assert before.streams == after.streams == ["gate"] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "observer Broken: stream_dropped raised ValueError: no gate; password=***; this is logged once",
        "observer Broken: node_ran raised ValueError: no clock; this is logged once",
    ]
    assert all(record.exc_info is None for record in caplog.records)


def test_where_more_is_logged_there_is_the_trace_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="operators.observer"):
        Observers([Broken()]).stream_dropped("gate")
    assert caplog.records[0].exc_info is not None


def test_one_class_watching_twice_is_logged_twice(caplog: pytest.LogCaptureFixture) -> None:
    Observers([Broken(), Broken()]).stream_dropped("gate")
    assert len(caplog.records) == 2
