"""Answers go out as soon as exits are sure of all looks; every run goes on to its end and is compared."""

from __future__ import annotations

import asyncio
import logging

import pytest

from operators.frames.frame import Region
from operators.recognise.exits import followed_runs
from operators.recognise.exits.node_exits import TOGETHER
from operators.testing import call, make_frame, make_region
from serving.errors import OutOfService
from tests.operators.recognise.exits.crossing import CUT, PAINT, Crossing
from tests.turns import turns

COLOURS = ("blue", "green", "red")


class Held(Crossing):
    """A crossing whose runs end when the test lets them."""

    def __init__(self, per_track: bool = False) -> None:
        super().__init__(["cached"], releases=True, per_track=per_track)
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails: Exception | None = None
        self.engine.runs_on = self._runs_on

    async def trusted(self) -> None:
        if self.objects is None:
            await self.until(lambda: self.phase("cached") == "trusted", COLOURS)
        else:
            await self.tracks(COLOURS, 150)
            assert self.phase("cached") == "trusted"

    async def early(self, colour: str, track: int | None = None) -> list[Region]:
        """One frame whose run is held."""
        self.gate.clear()
        picture = make_frame().image.copy()
        picture[:] = PAINT[colour]
        regions = [make_region(0.3, 0.3, id=place, track_id=track) for place in range(1 if track else 2)]
        self.seq += 1
        await self.node.process(make_frame(self.seq, self.seq / 10, picture), regions, call("net"))
        return regions

    async def _runs_on(self) -> None:
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails


async def test_an_answer_is_out_before_the_run_has_ended_and_is_compared_once_it_has() -> None:
    held = Held()
    await held.trusted()
    before = held.plan("cached").audits
    regions = await held.early("green")
    assert [(each.attributes[-1].label, each.attributes[-1].provenance) for each in regions] == [
        ("green", "cached")
    ] * 2
    assert held.plan("cached").audits == before
    held.gate.set()
    await held.node.settled()
    plan = held.plan("cached")
    assert (plan.audits, plan.agreement.disagreements) == (before + 2, 0)


async def test_in_service_every_look_runs_on_and_is_an_audit_and_a_sample_of_itself() -> None:
    held = Held()
    await held.trusted()
    before = held.plan("cached").audits
    (samples,) = held.maker.samples.values()
    taken = len(samples)
    assert await held.passing(COLOURS, 50) == {"cached": 200}
    assert held.plan("cached").audits == before + 200
    fresh = [float(row[-1]) for _, row in samples[taken:]]
    assert fresh == [1.0] * len(fresh)
    assert abs(len(fresh) - 200) < TOGETHER


async def test_what_that_costs_is_told_as_time_and_never_leads_to_exits_being_left() -> None:
    held = Held()
    await held.trusted()
    held.engine.costs_s[CUT] = 0.012
    before = held.plan("cached").early_s or 0.0
    assert await held.passing(COLOURS, 100) == {"cached": 400}
    assert held.plan("cached").early_s == pytest.approx(before + 400 * 0.002)


async def test_where_one_look_is_open_all_wait_for_the_end() -> None:
    held = Held()
    await held.trusted()
    exits = held.shared.of("cam").in_use if held.shared else None
    assert exits is not None
    for exit_ in exits.exits.by_cut.values():
        object.__setattr__(exit_, "threshold", 0.0)
    assert await held.passing(COLOURS, 2) == {"oracle": 8}


async def test_tracks_are_compared_once_all_their_looks_have_ended() -> None:
    held = Held(per_track=True)
    await held.trusted()
    before = held.plan("cached")
    (region,) = await held.early("red", track=9000)
    assert (region.attributes[-1].looked, region.attributes[-1].label) == ("cached", "red")
    for _ in range(40):  # it is concluded, and has left
        held.seq += 1
        await held.node.process(make_frame(held.seq, held.seq / 2), [], call("net"))
    assert held.plan("cached").audits == before.audits
    held.gate.set()
    await held.node.settled()
    after = held.plan("cached")
    assert (after.audits, after.agreement.disagreements, after.given_up) == (
        before.audits + 1,
        before.agreement.disagreements,
        before.given_up,
    )


async def test_every_track_in_service_is_compared() -> None:
    held = Held(per_track=True)
    await held.trusted()
    before = held.plan("cached").audits
    assert await held.tracks(COLOURS, 20) == {"cached": 20}
    assert held.plan("cached").audits == before + 20


async def test_looks_of_a_run_that_is_over_are_not_held_against_the_next_one_s_tracks() -> None:
    held = Held(per_track=True)
    await held.trusted()
    before = held.plan("cached")
    await held.early("red", track=9000)
    region = make_region(0.3, 0.3, track_id=9000)
    await held.node.process(make_frame(0, 0.0, make_frame().image, run="run-2"), [region], call("net"))
    held.gate.set()
    await held.node.settled()
    assert held.plan("cached").agreement.disagreements == before.agreement.disagreements


async def test_a_run_that_fails_after_its_answers_costs_the_comparison_only(caplog: pytest.LogCaptureFixture) -> None:
    held = Held()
    await held.trusted()
    before = held.plan("cached").audits
    held.fails = OutOfService("the driver is gone")
    for _ in range(3):
        regions = await held.early("blue")
        assert [each.attributes[-1].label for each in regions] == ["blue", "blue"]
        held.gate.set()
        await held.node.settled()
    assert held.plan("cached").audits == before
    lines = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert lines == ["what exits have said early cannot be compared: the driver is gone"]
    held.fails = None
    await held.early("blue")
    held.gate.set()
    await held.node.settled()
    assert held.plan("cached").audits == before + 2


async def test_a_run_that_fails_before_its_answers_is_answered_by_the_whole_network() -> None:
    held = Held()
    await held.trusted()
    infer = held.engine.infer

    async def broken(model: str, *rest: object, **more: object) -> object:
        if model == CUT:
            raise OutOfService("the driver is gone")
        return await infer(model, *rest, **more)  # type: ignore[arg-type]

    held.engine.infer = broken  # type: ignore[assignment, method-assign]
    assert await held.frame("blue", "red") == ["blue", "red"]
    assert held.cut.why_not == "the driver is gone"


async def test_with_many_runs_under_way_answers_wait_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_runs, "MOST_RUNS", 3)
    held = Held()
    await held.trusted()
    for _ in range(3):
        await held.early("blue")
    waiting = asyncio.create_task(held.early("green"))
    await turns()
    assert waiting.done(), "what is not asked early is not held by this engine"
    (region, _) = waiting.result()
    assert region.attributes[-1].label == "green"
    held.gate.set()
    await held.node.settled()


async def test_at_the_end_runs_under_way_are_given_up() -> None:
    held = Held()
    await held.trusted()
    await held.early("blue")
    before = held.plan("cached").audits
    await held.node.close(1.0)
    assert held.plan("cached").audits == before


async def test_a_frame_that_is_cancelled_takes_its_run_with_it() -> None:
    held = Held()
    await held.trusted()
    stopped = asyncio.Event()

    async def waits(*_: object, **__: object) -> object:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    held.engine.infer = waits  # type: ignore[assignment, method-assign]
    frame = asyncio.create_task(held.frame("blue"))
    await turns()
    frame.cancel()
    with pytest.raises(asyncio.CancelledError):
        await frame
    await turns()
    assert stopped.is_set()


async def test_thresholds_follow_what_is_shown_under_the_same_number() -> None:
    held = Held()
    await held.trusted()
    assert held.shared is not None
    before = held.shared.of("cam").in_use
    await held.passing(COLOURS, 100)
    after = held.shared.of("cam").in_use
    assert before is not None
    assert after is not None
    assert after is not before, "tuned anew"
    assert after.number == before.number
    assert held.phase("cached") == "trusted"
