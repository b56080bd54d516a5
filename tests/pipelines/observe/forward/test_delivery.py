"""How often a notification is tried, when it is given up, and what is said of it."""

from __future__ import annotations

import asyncio
import re

import pytest

from operators.wire.schema import Notification
from pipelines.observe.forward import delivery
from pipelines.observe.forward.delivery import MOST_FAILURES, end_of
from pipelines.observe.forward.sink import Away, Cut, EventPicture, Failed, Refused
from tests.fake_clock import FakeClock
from tests.pipelines.observe.forward.notes import event_note, state_note
from tests.pipelines.observe.forward.outcomes import Outcomes, no_frame, way

SHOWN_S = 60.0


class Scripted:
    """A sink that raises the next of its errors, the last one for ever; None: takes it."""

    keeps_states = False

    def __init__(self, *script: Exception | None) -> None:
        self.script = list(script)
        self.tried = 0

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        self.tried += 1
        error = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if error is not None:
            raise error

    async def run(self) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("script", "outcome", "tried"),
    [
        ([None], "delivered", 1),
        ([Failed("500"), Away("gone"), None], "delivered", 3),
        ([Refused("400")], "refused", 1),
        ([Failed("500")], "failed", MOST_FAILURES),
        ([ValueError("a library's surprise")], "failed", MOST_FAILURES),
        ([Cut("closed at a message")], "failed", MOST_FAILURES),
    ],
)
async def test_how_it_ends(script: list[Exception | None], outcome: str, tried: int) -> None:
    sink, outcomes = Scripted(*script), Outcomes()
    await way(sink, FakeClock(), outcomes).deliver(event_note(), 0.0, no_frame)
    assert (outcomes.ended, sink.tried) == ([outcome], tried)


async def test_the_log_says_where_a_sink_has_raised(caplog: pytest.LogCaptureFixture) -> None:
    await way(Scripted(ValueError("odd"), None), FakeClock(), Outcomes()).deliver(event_note(), 0.0, no_frame)
    assert re.fullmatch(
        r"sink hook: ValueError: test_delivery\.py:\d+ in deliver: odd; trying again", caplog.messages[0]
    )


async def test_a_sink_that_never_returns_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Hung(Scripted):
        async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(delivery, "LONGEST_S", 0.01)
    outcomes = Outcomes()
    await way(Hung(), FakeClock(), outcomes).deliver(event_note(), 0.0, no_frame)
    assert outcomes.ended == ["failed"]
    assert "it has not been taken within 0.01 s" in caplog.text


async def test_a_sink_that_is_away_is_waited_for_until_the_notification_is_too_old() -> None:
    sink, outcomes, clock = Scripted(Away("gone")), Outcomes(), FakeClock()
    began_s = clock.monotonic_s()
    await way(sink, clock, outcomes).deliver(event_note(), 600.0, no_frame)
    assert outcomes.ended == ["expired"]
    assert 3000.0 <= clock.monotonic_s() - began_s <= 3060.0


async def test_a_sink_that_asks_for_time_gets_it_and_not_more_than_the_notification_has() -> None:
    for asked_s, tried in ((600.0, 2), (0.0, 2), (3600.0, 2)):
        sink, clock = Scripted(Away("the server answers 503", asked_s), None), FakeClock()
        began_s = clock.monotonic_s()
        await way(sink, clock, Outcomes()).deliver(event_note(), 0.0, no_frame)
        assert sink.tried == tried
        assert asked_s <= clock.monotonic_s() - began_s <= max(asked_s, 1.0)
    sink, outcomes = Scripted(Away("the server answers 503", 3600.0)), Outcomes()
    await way(sink, FakeClock(), outcomes).deliver(event_note(), 0.0, no_frame)
    assert (outcomes.ended, sink.tried) == (["expired"], 2)


async def test_what_is_too_old_is_not_sent_and_a_time_to_come_counts_as_now() -> None:
    sink, outcomes = Scripted(None), Outcomes()
    hook = way(sink, FakeClock(), outcomes)
    await hook.deliver(event_note(), 3600.0, no_frame)
    await hook.deliver(event_note(), -1e12, no_frame)
    assert (outcomes.ended, sink.tried) == (["expired", "delivered"], 1)


async def test_a_state_is_shown_once_to_a_sink_that_keeps_it_however_old_it_is() -> None:
    class Keeper(Scripted):
        keeps_states = True

    for sink, tried in ((Keeper(Away("gone")), 1), (Scripted(Away("gone")), 0)):
        outcomes = Outcomes()
        await way(sink, FakeClock(), outcomes).deliver(state_note("yard", "failed"), 3600.0, no_frame)
        assert (outcomes.ended, sink.tried) == (["expired"], tried)


async def test_trouble_is_told_once_and_once_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock = FakeClock()
    hook = way(Scripted(Away("no connection"), Away("no connection"), None), clock, Outcomes())
    for _ in range(3):
        await hook.deliver(event_note(), 0.0, no_frame)
    lines = [record.getMessage() for record in caplog.records if record.name == "pipelines.observe.forward.delivery"]
    assert lines == ["sink hook: no connection; trying again", "sink hook takes notifications again"]


async def test_a_sink_in_trouble_makes_the_process_unhealthy_only_after_a_while() -> None:
    clock = FakeClock()
    said: list[str | None] = []

    class Watched(Scripted):
        async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
            said.append(hook.trouble(SHOWN_S))
            await super().deliver(notice, picture)

    hook = way(Watched(Failed("the server answers 500")), clock, Outcomes())
    await hook.deliver(event_note(), 0.0, no_frame)
    assert said[:3] == [None, None, None]
    assert said[-1] is not None
    assert said[-1].startswith("sink hook has taken nothing for ")
    assert said[-1].endswith("the server answers 500")
    clock.advance(SHOWN_S)
    assert hook.trouble(SHOWN_S) is None  # there is nothing that it could take


async def test_those_that_are_given_up_are_counted_and_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    outcomes = Outcomes()
    hook = way(Scripted(Refused("the server answers 400; password=hunter22")), FakeClock(), outcomes)
    for _ in range(25):
        await hook.deliver(event_note(), 0.0, no_frame)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2  # the 1st and the 10th
    assert lines[0] == (
        "sink hook: a notification is given up (refused): new of stream yard: the server answers 400; password=***"
    )
    assert outcomes.ended == ["refused"] * 25


def test_both_bounds_end_a_delivery() -> None:
    assert end_of(MOST_FAILURES - 1, 10.0, 3600.0) is None
    assert end_of(MOST_FAILURES, 10.0, 3600.0) == "failed"
    assert end_of(0, 3600.0, 3600.0) == "expired"
