"""What the two kinds of exits tell, which version is in use, and what is forgotten."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cache_adapt.audit.verdict import least_audits
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from learning.budget import Budget
from operators.recognise.exits import heard_exits
from operators.recognise.exits.account import PATIENCE
from operators.recognise.exits.kinds import SharedExits
from operators.recognise.exits.node_exits import TOGETHER
from tests.operators.recognise.exits.crossing import CUT, CUTS, FIRST_TUNING, ROWS, SHA, Crossing
from tests.operators.recognise.exits.maker import Maker

COLOURS = ("blue", "green", "red")


@cache
def learnt() -> ExitArtefact:
    """Exits for colours, as they are read from a file."""
    words = np.arange(120) % 3
    tap = (16 * np.eye(3)[words] + np.random.default_rng(0).normal(1, 0.5, (120, 3))).astype(np.float32)
    shares = np.eye(3, dtype=np.float32)[words]
    spec = ExitsSpec(CUTS, Vocabulary(3, 0.6), 0.8)
    return fit("net", SHA, spec, ExitRows([tap, tap], shares, words, np.ones(120, np.float32)))


def number(shared: SharedExits | None, stream: str) -> int | None:
    """That of the exits in use on a stream."""
    used = None if shared is None else shared.of(stream).in_use
    return None if used is None else used.number


def there(**more: object) -> Crossing:
    """A crossing with exits from a file, that makes no others."""
    return Crossing(["cached"], there=learnt(), makes=False, **more)  # type: ignore[arg-type]


async def test_exits_that_are_there_prove_themselves_from_the_first_look_on_and_no_others_are_made() -> None:
    crossing = there()
    await crossing.until(lambda: crossing.cut.is_open, COLOURS, 5)
    frames = await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert 4 * frames <= FIRST_TUNING + 40
    assert await crossing.passing(COLOURS, 5) == {"cached": 20}
    assert crossing.maker.wishes == []
    plan = crossing.plan("cached")
    assert (plan.shortcuts, plan.oracle, plan.reason) == (["net"], "net", None)


async def test_exits_that_bring_thresholds_are_in_the_shadow_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_exits, "FIRST_TUNING", 10_000)
    brought = learnt().tuned((0.3, 0.3), (0.9, 0.05), 0.8)
    crossing = Crossing(["cached"], there=brought, makes=False)
    await crossing.until(lambda: crossing.cut.is_open, COLOURS, 5)
    frames = await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert ROWS * frames <= least_audits(0.8) + 2 * TOGETHER
    assert await crossing.passing(COLOURS, 5) == {"cached": 20}


async def test_what_an_audit_has_switched_off_gives_way_to_any_that_pay() -> None:
    brought = learnt().tuned((0.3, 0.3), (1.0, 0.0), 0.8)
    crossing = Crossing(["cached"], there=brought, makes=False)
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert crossing.shared is not None
    crossing.words |= {"blue": "red", "red": "blue"}
    await crossing.until(lambda: crossing.phase("cached") == "off", COLOURS)
    assert crossing.shared.used is not None
    before, spared = crossing.shared.used.number, crossing.shared.used.spared
    assert spared == 0.0
    crossing.words |= {"blue": "blue", "red": "red"}
    await crossing.until(lambda: crossing.shared is not None and number(crossing.shared, "cam") != before, COLOURS)


async def test_they_are_shared_by_all_streams_but_prove_themselves_on_each() -> None:
    crossing = there()
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert await crossing.passing(COLOURS, 1, "other") == {"oracle": 4}
    assert crossing.phase("cached", "other") == "shadow"
    await crossing.passing(COLOURS, 10, "other")
    assert crossing.phase("cached", "other") == "trusted"


async def test_why_shared_exits_are_silent_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    crossing = Crossing(["cached"])
    assert crossing.shared is not None
    assert crossing.shared.why_silent("cam") == "exits are not used: their network is not cut yet"
    monkeypatch.setattr(heard_exits, "FIRST_TUNING", 200)
    await crossing.until(lambda: bool(crossing.maker.made), COLOURS)
    await crossing.passing(COLOURS, 2)
    assert "tuned next at 200" in str(crossing.shared.why_silent("cam"))
    assert crossing.plan("cached").reason == crossing.shared.why_silent("cam")
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert crossing.shared.why_silent("cam") is None
    crossing.shared.of("cam").leave("they cost more than they save")
    assert crossing.shared.why_silent("cam") == "exits are not used: they cost more than they save"
    assert crossing.shared.why_silent("other") is None


async def test_shared_exits_that_lose_on_a_stream_are_left_there_alone() -> None:
    crossing = there()
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    await crossing.passing(COLOURS, 20, "other")
    crossing.engine.costs_s[CUT] = 0.0201
    frames = await crossing.until(lambda: crossing.shared.of("cam").in_use is None, COLOURS)  # type: ignore[union-attr]
    assert 4 * frames == pytest.approx(PATIENCE, abs=4)
    assert await crossing.passing(COLOURS, 1, "other") == {"cached": 4}
    assert await crossing.passing(COLOURS, 2) == {"oracle": 8}
    crossing.node.forget("cam")
    assert crossing.shared is not None
    assert crossing.shared.of("cam").in_use is crossing.shared.used, "a stream that comes anew is given another chance"


async def test_other_exits_have_another_edition_and_bring_those_back_who_have_left() -> None:
    crossing = Crossing(["cached"], there=learnt(), maker=Maker(first=60))
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    shared = crossing.shared
    assert shared is not None
    used = shared.of("cam").in_use
    assert used is not None
    shared.used = replace(used, spared=0.0)
    shared.of("other").leave("they cost more than they save")
    crossing.maker.first = 1
    await crossing.until(lambda: number(shared, "cam") != used.number, COLOURS)
    assert number(shared, "other") == number(shared, "cam")
    await crossing.passing(COLOURS, 1)
    assert crossing.phase("cached") == "shadow", "they have to prove themselves anew"


async def test_nothing_of_a_stream_that_has_gone_is_kept() -> None:
    crossing = there()
    await crossing.passing(COLOURS, 2, "a")
    await crossing.passing(COLOURS, 2, "b")
    crossing.node.forget("a")
    assert crossing.shared is not None
    assert list(crossing.shared._streams) == ["b"]


async def test_every_look_is_an_answer_for_the_plans_of_both_kinds_whoever_gives_it() -> None:
    crossing = Crossing(["specialised", "cached"])
    await crossing.until(lambda: "trusted" in (crossing.phase(), crossing.phase("cached")), COLOURS)
    await crossing.passing(COLOURS, 50)
    assert crossing.plan().answers == crossing.plan("cached").answers == ROWS * crossing.seq


@pytest.mark.parametrize(("asked_for", "told"), [(True, True), (False, False)])
async def test_where_nothing_was_made_only_those_hear_of_it_who_have_asked(asked_for: bool, told: bool) -> None:
    crossing = Crossing(["specialised"], asked_for=asked_for, budget=Budget(0.0, lambda: 1e9))
    await crossing.passing(COLOURS, 100)
    assert bool(crossing.node.plans()) is told
    assert (crossing.found_cuts, crossing.maker.samples) == (0, {})


@pytest.mark.parametrize("per_track", [False, True])
async def test_where_exits_were_made_everybody_hears_of_them(per_track: bool) -> None:
    crossing = Crossing(["specialised"], asked_for=False, per_track=per_track)
    if per_track:
        await crossing.tracks(("blue", "blue", "green"), 250)
    else:
        await crossing.until(lambda: crossing.phase() == "trusted", ("blue", "blue", "green"))
    found = crossing.plan().specialization
    assert found is not None
    assert (found.phase, found.classes, found.template) == ("specialised", ["blue", "green"], "exits")


async def test_in_a_network_that_is_fast_nothing_is_made_and_who_has_asked_is_told_why() -> None:
    for asked_for in (True, False):
        crossing = Crossing(["specialised"], asked_for=asked_for)
        crossing.engine.costs_s = {"net": 0.0004}
        await crossing.passing(COLOURS, 50)
        assert crossing.found_cuts == 0
        plans = crossing.node.plans()
        assert bool(plans) is asked_for
        if asked_for:
            found = crossing.plan().specialization
            assert found is not None
            assert "a look of net takes 0.90 ms of processor time" in str(found.reason)


async def test_with_several_streams_there_is_one_network_and_one_budget() -> None:
    crossing = Crossing(["specialised", "cached"], asked_for=False)
    for _ in range(30):
        for stream in ("a", "b", "c"):
            await crossing.passing(COLOURS, 1, stream)
    assert (crossing.found_cuts, crossing.engine.loaded) == (1, [CUT])
    assert set(crossing.budget.spent) == {"opening", "samples", "training"}


async def test_to_report_on_streams_that_have_gone_brings_none_of_them_back() -> None:
    crossing = Crossing(["specialised", "cached"])
    for stream in ("a", "b"):
        await crossing.passing(COLOURS, 2, stream)
        crossing.node.forget(stream)
    assert crossing.shared is not None
    assert set(crossing.node.plans(gone=True)) == {"a", "b"}
    assert list(crossing.shared._streams) == []


async def test_looks_count_as_passed_on_by_exits_only_where_these_were_asked() -> None:
    crossing = Crossing(["specialised"])
    assert crossing.special is not None
    await crossing.until(lambda: crossing.special.of("cam").in_use is not None, COLOURS)  # type: ignore[union-attr]
    await crossing.passing(COLOURS, 2)
    assert crossing.phase() == "shadow"
    told = crossing.plan().specialization
    assert told is not None
    assert (told.head, told.fallback, told.special_rate, told.cascade_rate) == (0, 0, 0.0, None)
    assert told.oracle == ROWS * crossing.seq
    await crossing.until(lambda: crossing.phase() == "trusted", COLOURS)
    before = crossing.plan().specialization
    await crossing.frame("blue", "grey", "grey", "green")
    after = crossing.plan().specialization
    assert before is not None
    assert after is not None
    assert (after.oracle, after.head + after.fallback - before.head - before.fallback) == (before.oracle, ROWS)


async def test_answers_of_others_are_no_answers_of_the_oracle() -> None:
    crossing = Crossing(["specialised", "cached"])
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert crossing.special is not None
    crossing.special.of("cam").barred()
    before = crossing.plan().specialization
    assert await crossing.passing(COLOURS, 5) == {"cached": 5 * ROWS}
    after = crossing.plan().specialization
    assert before is not None
    assert after is not None
    assert (after.oracle, after.fallback) == (before.oracle, before.fallback)
