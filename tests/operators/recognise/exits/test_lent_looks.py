"""The oracle is on another machine: exits in a network of this one answer, and what leaves nowhere crosses once."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from cache_adapt.audit.state import AuditState
from learning.budget import Budget
from operators import background
from operators.recognise.exits.node_exits import TOGETHER
from operators.testing import call, make_frame, make_region
from serving.errors import BackendDown, OutOfService, TooLate, Unavailable
from tests.operators.recognise.exits.crossing import PAINT, ROWS
from tests.operators.recognise.exits.lent import FAR, FAR_S, LENT, NEAR, LentCrossing, shown
from tests.turns import settled, turns

COLOURS = ("blue", "green", "red")


async def trusted(crossing: LentCrossing, kind: str = "cached") -> LentCrossing:
    """The same once its exits answer."""
    if crossing.objects is None:
        await crossing.until(lambda: crossing.phase(kind) == "trusted", COLOURS)
    else:
        await crossing.tracks(COLOURS, 250)
        assert crossing.phase(kind) == "trusted"
    return crossing


def surer(crossing: LentCrossing, threshold: float) -> None:
    """Have the exits answer only where they are as sure as that; at 0 nowhere."""
    exits = crossing.shared.of("cam").in_use if crossing.shared else None
    assert exits is not None
    for exit_ in exits.exits.by_cut.values():
        object.__setattr__(exit_, "threshold", threshold)


async def test_before_exits_answer_every_look_crosses_once_and_is_a_sample() -> None:
    crossing = LentCrossing()
    await crossing.until(lambda: crossing.cut.is_open, COLOURS)
    calls = crossing.calls
    assert await crossing.passing(COLOURS, 10) == {"oracle": 10 * ROWS}
    assert crossing.calls - calls == 10 * ROWS
    assert crossing.far.crossed[True] == 0
    assert crossing.looks(LENT) == 10 * ROWS
    assert sum(map(len, crossing.maker.samples.values())) > 0
    assert crossing.crossings.crossed == 0, "samples are free: the looks cross anyway"


async def test_in_service_the_other_machine_hears_of_drawn_looks_alone_and_in_the_background() -> None:
    crossing = await trusted(LentCrossing())
    before, at_once = crossing.plan("cached"), crossing.far.crossed[False]
    assert await crossing.passing(COLOURS, 200) == {"cached": 800}
    assert crossing.far.crossed[False] == at_once
    assert 0.02 * 800 <= crossing.far.crossed[True] <= 0.1 * 800, "one in twenty"
    after = crossing.plan("cached")
    assert after.audits - before.audits == crossing.far.crossed[True] == crossing.crossings.crossed
    assert after.agreement.disagreements == 0


async def test_in_service_drawn_looks_alone_are_held_whether_exits_are_sure_of_them() -> None:
    crossing = await trusted(LentCrossing())
    assert crossing.shared is not None
    tuned = crossing.shared.tuned
    (samples,) = crossing.maker.samples.values()
    held, taught, crossed = tuned._held, len(samples), crossing.far.crossed[True]
    await crossing.passing(COLOURS, 500)
    crossed, held, taught = crossing.far.crossed[True] - crossed, tuned._held - held, len(samples) - taught
    assert crossed > 3 * TOGETHER
    assert abs(taught - crossed) < TOGETHER, "all that crossed, but for those that are taken together"
    assert held == taught
    surer(crossing, 0.0)
    held, calls = tuned._held, crossing.calls
    await crossing.passing(COLOURS, 150)
    assert crossing.calls - calls == 150 * ROWS
    assert 0.02 * 150 * ROWS <= tuned._held - held <= 0.1 * 150 * ROWS, "one in twenty, though all crossed"


async def test_exits_of_single_streams_learn_from_it_too() -> None:
    crossing = await trusted(LentCrossing("specialised"), "specialised")
    assert await crossing.passing(COLOURS, 20) == {"specialised": 20 * ROWS}


async def test_what_no_exit_is_sure_of_has_the_oracle_s_answer() -> None:
    crossing = await trusted(LentCrossing())
    surer(crossing, 0.0)
    calls = crossing.calls
    regions = await crossing.regions("blue", "green", "grey")
    assert shown(regions) == [("blue", "oracle"), ("green", "oracle"), ("unknown", "oracle")]
    assert crossing.calls - calls == 3


async def test_a_drawn_look_is_answered_before_the_other_machine_has_answered() -> None:
    crossing = await trusted(LentCrossing())
    crossing.far.gate.clear()
    before, outcomes = crossing.plan("cached").audits, 0
    for _ in range(30):
        picture = make_frame().image.copy()
        picture[:] = PAINT["green"]
        regions = [make_region(0.3, 0.3, id=place) for place in range(ROWS)]
        crossing.seq += 1
        frame = make_frame(crossing.seq, crossing.seq / 10, picture)
        await crossing.node.process(frame, regions, call(FAR))
        crossing.node.published(frame.header.id)
        outcomes += shown(regions).count(("green", "cached"))
    await turns()
    assert outcomes == 30 * ROWS
    assert crossing.plan("cached").audits == before
    crossing.far.gate.set()
    await settled()
    assert crossing.plan("cached").audits > before


async def test_tracks_are_compared_though_they_are_gone_when_the_answers_come() -> None:
    crossing = await trusted(LentCrossing(per_track=True))
    before, calls = crossing.plan("cached"), crossing.far.crossed[False]
    assert await crossing.tracks(COLOURS, 150) == {"cached": 150}
    after = crossing.plan("cached")
    assert after.answers - before.answers == 150
    assert crossing.far.crossed[False] == calls
    assert 2 <= after.audits - before.audits <= 20
    assert (after.agreement.disagreements, after.given_up) == (0, before.given_up)


@pytest.mark.parametrize("per_track", [False, True])
async def test_what_audits_may_not_cost_they_do_not_and_what_is_left_out_is_known(per_track: bool) -> None:
    crossing = await trusted(LentCrossing(per_track=per_track))
    before = crossing.calls
    crossing.audit_no_more()
    if per_track:
        await crossing.tracks(COLOURS, 60)
    else:
        await crossing.passing(COLOURS, 60)
    assert crossing.calls == before
    assert crossing.plan("cached").phase == "trusted"


async def test_an_oracle_that_says_otherwise_switches_the_exits_off() -> None:
    crossing = await trusted(LentCrossing())
    crossing.words["blue"] = "red"
    await crossing.until(lambda: crossing.phase("cached") == "off", ["blue"])
    assert await crossing.frame("blue") == ["red"]


async def test_audits_that_fail_cost_nothing_but_themselves(caplog: pytest.LogCaptureFixture) -> None:
    crossing = await trusted(LentCrossing(per_track=True))
    crossing.far.fails[FAR] = Unavailable("gpu does not answer")
    before = crossing.plan("cached")
    assert await crossing.tracks(COLOURS, 100) == {"cached": 100}
    after = crossing.plan("cached")
    assert (after.audits, after.answers) == (before.audits, before.answers + 100)
    assert after.given_up > before.given_up
    lines = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert lines == ["a second network cannot audit: gpu does not answer"]


async def test_a_frame_that_needs_the_oracle_fails_where_it_fails() -> None:
    crossing = LentCrossing()
    await crossing.until(lambda: crossing.cut.is_open, COLOURS)
    crossing.far.fails[FAR] = Unavailable("gpu does not answer")
    with pytest.raises(Unavailable):
        await crossing.frame("blue")
    assert crossing.cut.why_not is None


async def test_where_the_oracle_is_down_what_exits_are_sure_of_is_theirs_and_a_variant_has_the_rest() -> None:
    crossing = await trusted(LentCrossing(variant=True))
    surer(crossing, 0.2)
    crossing.far.fails[FAR] = BackendDown("gpu is down")
    regions = await crossing.regions("blue", "grey", "green")
    assert shown(regions) == [("blue", "cached"), ("red", "variant"), ("green", "cached")]
    crossing.far.fails[NEAR] = OutOfService("near is gone")
    with pytest.raises(BackendDown):
        await crossing.regions("blue", "grey")


async def test_a_lender_that_fails_is_let_go_and_the_oracle_answers() -> None:
    crossing = await trusted(LentCrossing())
    crossing.far.fails[LENT] = TooLate("too late")
    with pytest.raises(TooLate):
        await crossing.frame("blue")
    crossing.far.fails[LENT] = OutOfService("the driver is gone")
    assert await crossing.frame("blue", "red") == ["blue", "red"]
    assert crossing.cut.why_not == "the driver is gone"
    calls = crossing.calls
    assert await crossing.frame("green") == ["green"]
    assert crossing.calls == calls + 1


async def test_with_many_answers_to_come_drawn_looks_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    crossing = await trusted(LentCrossing())
    monkeypatch.setattr(background, "MAX_WAITING", 0)
    at_once = crossing.far.crossed[False]
    assert await crossing.passing(COLOURS, 100) == {"cached": 400}
    assert crossing.far.crossed[True] == 0
    assert crossing.far.crossed[False] > at_once


async def test_an_answer_that_comes_once_the_stream_has_gone_is_compared_and_brings_nothing_back() -> None:
    crossing = await trusted(LentCrossing("specialised"), "specialised")
    assert crossing.special is not None
    crossing.far.gate.clear()
    before, samples = crossing.plan().audits, sum(map(len, crossing.maker.samples.values()))
    for _ in range(40):
        regions = [make_region(0.3, 0.3, id=place) for place in range(ROWS)]
        picture = make_frame().image.copy()
        picture[:] = PAINT["green"]
        crossing.seq += 1
        frame = make_frame(crossing.seq, crossing.seq / 10, picture)
        await crossing.node.process(frame, regions, call(FAR))
        crossing.node.published(frame.header.id)
    crossing.node.forget("cam")
    crossing.far.gate.set()
    await settled()
    assert crossing.plan().audits > before
    assert crossing.special._streams == {}
    assert sum(map(len, crossing.maker.samples.values())) == samples


async def test_a_look_there_pays_for_learning_as_its_seconds_and_the_lender_s_looks_are_paid() -> None:
    budget = Budget(0.05, lambda: 0.0)
    crossing = LentCrossing(budget=budget)
    await crossing.passing(COLOURS, 66)
    assert budget.used_s == pytest.approx(66 * FAR_S)
    assert not crossing.cut.is_open, "not before twenty seconds"
    await crossing.passing(COLOURS, 4)
    assert crossing.cut.is_open
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert budget.left_s >= -0.1
    spent_s = budget.spent_s
    assert spent_s <= 0.05 * budget.used_s + 0.1


async def test_without_a_budget_nothing_is_opened() -> None:
    crossing = LentCrossing(budget=Budget(0.0, lambda: 100.0))
    assert await crossing.passing(COLOURS, 100) == {"oracle": 400}
    assert not crossing.cut.is_open


async def test_where_a_look_there_takes_no_longer_than_one_of_the_lender_exits_stay_out() -> None:
    crossing = LentCrossing()
    crossing.engine.costs_s = dict.fromkeys(crossing.engine.costs_s, 0.4)
    await crossing.passing(COLOURS, 5)
    assert not crossing.cut.is_open
    reason = crossing.plan("cached").reason or ""
    assert reason.startswith("exits are not used: a look of far on gpu takes 75.0 ms, one of near takes 400.")


async def test_answers_of_a_variant_do_not_speak_against_exits_that_were_not_asked() -> None:
    crossing = await trusted(LentCrossing("specialised", variant=True), "specialised")
    assert crossing.special is not None
    audits, weg = crossing.node._streams.known()["cam"].audits, crossing.special.of("cam").weg
    audits.restore({"variant near": AuditState(phase="probation")})
    head, n = weg.state.head, len(weg.state.sources)
    for _ in range(100):
        frame, region = make_frame(crossing.seq, crossing.seq / 10), make_region(0.3, 0.3)
        crossing.seq += 1
        await crossing.node.process(frame, [region], call("near"))
        assert region.attributes[-1].provenance == "variant"
    assert (weg.state.head, len(weg.state.sources), weg.state.falling) == (head, n, 0.0)


async def test_what_exits_have_answered_is_an_answer_for_a_variant_that_proves_itself_too() -> None:
    crossing = await trusted(LentCrossing(variant=True))
    surer(crossing, 0.2)
    near = crossing.node._streams.known()["cam"].audits.of("variant near").state
    asked, before = call(FAR), near.answers
    asked = replace(asked, decision=replace(asked.decision, proving=frozenset([NEAR])))
    regions = [make_region(0.3, 0.3, id=place) for place in range(ROWS)]
    frame = make_frame(crossing.seq, crossing.seq / 10)
    frame.image[:] = PAINT["green"]
    await crossing.node.process(frame, regions, asked)
    assert shown(regions) == ROWS * [("green", "cached")]
    assert near.answers - before == ROWS


async def test_second_looks_of_a_variant_in_service_cross_within_the_same_budget() -> None:
    crossing = LentCrossing("", variant=True)
    crossing.words = dict.fromkeys(PAINT, "red")
    for _ in range(300):
        regions = [make_region(0.3, 0.3, id=place) for place in range(ROWS)]
        frame = make_frame(crossing.seq, crossing.seq / 10)
        crossing.seq += 1
        await crossing.node.process(frame, regions, call("near"))
        crossing.node.published(frame.header.id)
        await turns()
    assert crossing.phase("variant near") == "trusted"
    assert 0 < crossing.crossings.crossed == crossing.far.crossed[True]
    crossing.audit_no_more()
    calls = crossing.calls
    for _ in range(100):
        frame = make_frame(crossing.seq, crossing.seq / 10)
        crossing.seq += 1
        await crossing.node.process(frame, [make_region()], call("near"))
        crossing.node.published(frame.header.id)
        await turns()
    assert crossing.calls == calls


async def test_a_quiet_stream_is_told_why_its_looks_all_cross() -> None:
    crossing = LentCrossing("specialised")
    await crossing.passing(COLOURS, 3)
    told = crossing.plan().specialization
    assert told is not None
    assert told.reason == "12 looks went to far on gpu: exits take 1000 and more, which a quiet stream hardly has"
    await trusted(crossing, "specialised")
    told = crossing.plan().specialization
    assert told is not None
    assert told.reason is None
