"""Who leaves at an exit, who runs on for an audit, and what becomes of looks that ran on."""

from __future__ import annotations

import re

import numpy as np
import pytest

from learning.budget import Budget
from operators.recognise.exits.cut_oracle import CUT_SHARE
from operators.recognise.exits.node_exits import TOGETHER
from operators.testing import call, make_frame, make_region
from serving.errors import TooLate
from tests.operators.recognise.exits.crossing import CUT, ROWS, Crossing
from tests.operators.recognise.exits.maker import Maker

COLOURS = ("blue", "green", "red")


async def trusted(crossing: Crossing, kind: str = "cached") -> Crossing:
    """The same once exits of this kind answer."""
    await crossing.until(lambda: crossing.phase(kind) == "trusted", COLOURS)
    return crossing


async def test_before_exits_are_trusted_all_looks_run_on_and_nobody_answers() -> None:
    crossing = Crossing(["cached"])
    await crossing.until(lambda: bool(crossing.maker.made), COLOURS)
    assert crossing.shared is not None
    await crossing.until(lambda: crossing.shared.of("cam").in_use is not None, COLOURS)  # type: ignore[union-attr]
    assert await crossing.passing(COLOURS, 3) == {"oracle": 3 * ROWS}
    plan = crossing.plan("cached")
    assert (plan.phase, plan.audits, plan.agreement.disagreements, plan.shortcut_share) == ("shadow", 12, 0, 0.0)


async def test_in_service_looks_leave_but_for_those_that_are_drawn_and_these_are_answered_by_exits_too() -> None:
    crossing = await trusted(Crossing(["cached"]))
    before = crossing.plan("cached")
    infer, left = crossing.engine.infer, list[np.ndarray]()

    async def noting(*given: object, **more: object) -> list[np.ndarray]:
        found = await infer(*given, **more)  # type: ignore[arg-type]
        left.append(found[2])
        return found

    crossing.engine.infer = noting  # type: ignore[assignment, method-assign]
    assert await crossing.passing(COLOURS, 200) == {"cached": 800}
    ran_on = int((~np.concatenate(left)).sum())
    after = crossing.plan("cached")
    assert after.audits - before.audits == ran_on
    assert 0.02 * 800 <= ran_on <= 0.1 * 800, "one in twenty"
    assert after.agreement.disagreements == 0


async def test_a_look_of_which_the_end_says_no_number_is_unknown_and_no_sample() -> None:
    crossing = Crossing(["cached"])
    await crossing.until(lambda: bool(crossing.maker.made), COLOURS)
    networks, (samples,) = crossing.engine._models, crossing.maker.samples.values()
    known, before = networks[CUT], len(samples)
    networks[CUT] = known[0], lambda batch: [np.full((len(batch), 3), np.nan, np.float32)]
    for _ in range(TOGETHER):
        assert await crossing.frame("blue") == ["unknown"]
    assert len(samples) < before + TOGETHER
    networks[CUT] = known
    await crossing.passing(COLOURS, TOGETHER // ROWS)
    assert before < len(samples) <= before + 2 * TOGETHER
    assert crossing.vocabulary.unknown not in [word for word, _ in samples[before:]]


async def test_looks_that_were_drawn_stand_for_all_that_left() -> None:
    crossing = await trusted(Crossing(["cached"]))
    (samples,) = crossing.maker.samples.values()
    before = len(samples)
    assert {float(row[-2]) for _, row in samples} == {1.0}
    await crossing.passing(COLOURS, 1000)
    fresh = [float(row[-2]) for _, row in samples[before + TOGETHER :]]  # the first were heard before
    assert fresh
    assert set(fresh) == {20.0}, "one in twenty is drawn"
    assert sum(fresh) == pytest.approx(4000, rel=0.25)


async def test_looks_of_which_no_exit_was_sure_stand_for_themselves() -> None:
    crossing = Crossing(["specialised"])
    await crossing.until(lambda: crossing.phase() == "trusted", 10 * ("blue", "blue", "green") + ("red",))
    (samples,) = crossing.maker.samples.values()
    before = len(samples)
    for _ in range(2 * TOGETHER):
        await crossing.frame("blue", "blue", "green", "red")
    fresh = [float(row[-2]) for word, row in samples[before:] if word == 2]
    assert TOGETHER <= len(fresh) <= 2 * TOGETHER
    assert set(fresh) == {1.0}


async def test_an_end_that_says_otherwise_of_drawn_looks_is_a_disagreement_and_the_exit_s_word_was_published() -> None:
    crossing = await trusted(Crossing(["cached"]))
    crossing.words["blue"] = "red"
    said = [word for _ in range(60) for word in await crossing.frame("blue", "blue", "blue", "blue")]
    assert said[:4] == ["blue"] * 4
    outcomes = crossing.heard.calls["audit_disagreed"]
    assert outcomes
    for found, picture in outcomes:
        assert [each.label for each in (found.shortcut.found[0], found.oracle.found[0])] == ["blue", "red"]
        assert picture.shape == (20, 20, 3)
    assert crossing.phase("cached") == "off"
    assert said[-4:] == ["red"] * 4, "the oracle answers"


async def test_where_the_audit_is_off_looks_do_not_leave_and_the_cause_is_told() -> None:
    crossing = await trusted(Crossing(["cached"]))
    crossing.words["blue"] = "red"
    await crossing.until(lambda: crossing.phase("cached") == "off", ["blue"])
    frame, region = make_frame(crossing.seq, crossing.seq / 10), make_region()
    found = await crossing.node.process(frame, [region], call("net"))
    assert found.declined == {"cached": "its audit has switched it off"}
    assert region.attributes[-1].provenance == "oracle"


async def test_with_two_kinds_one_acts_and_the_other_proves_itself_on_what_runs_on() -> None:
    crossing = Crossing(["specialised", "cached"])
    await crossing.until(lambda: crossing.phase() == "trusted", COLOURS)
    given = await crossing.passing(COLOURS, 20)
    assert set(given) == {"specialised"}
    assert crossing.special is not None
    assert crossing.shared is not None
    subjects = {subject.stream for subject in crossing.maker.samples}
    assert subjects == {"", "cam"}
    assert crossing.phase("cached") in ("shadow", "trusted")
    before = crossing.plan("cached").audits
    await crossing.passing(COLOURS, 200)
    assert crossing.plan("cached").audits >= before
    crossing.special.of("cam").barred()
    assert set(await crossing.passing(COLOURS, 10)) <= {"cached", "oracle"}
    await crossing.until(lambda: crossing.phase("cached") == "trusted", COLOURS)
    assert await crossing.passing(COLOURS, 5) == {"cached": 20}


async def test_a_decision_that_does_not_allow_exits_has_the_oracle_answer() -> None:
    crossing = await trusted(Crossing(["cached"]))
    region = make_region()
    await crossing.node.process(make_frame(1000, 100.0), [region], call("net", shortcuts=frozenset()))
    assert region.attributes[-1].provenance == "oracle"


async def test_looks_run_through_cuts_without_an_answer_only_where_that_can_be_paid() -> None:
    used_s = [100.0]
    budget = Budget(0.5, lambda: used_s[0])
    crossing = Crossing(["cached"], budget=budget, maker=Maker(first=10_000))
    await crossing.until(lambda: crossing.cut.is_open, COLOURS)
    await crossing.passing(COLOURS, 5)
    looks = crossing.looks(CUT)
    assert looks > 0
    assert budget.spent["samples"] > CUT_SHARE * crossing.cut.whole_s * looks  # hearing what was said is paid too
    used_s[0] = 2 * budget.spent_s  # nothing is left
    await crossing.passing(COLOURS, 5)
    assert crossing.looks(CUT) == looks
    used_s[0] += 10
    await crossing.passing(COLOURS, 1)
    assert crossing.looks(CUT) == looks + ROWS


async def test_exits_in_service_need_no_budget_for_their_looks() -> None:
    used_s = [1e9]
    crossing = await trusted(Crossing(["cached"], budget=Budget(0.5, lambda: used_s[0])))
    used_s[0] = 0.0
    assert await crossing.passing(COLOURS, 5) == {"cached": 20}


async def test_a_frame_that_comes_too_late_fails_and_the_exits_stay() -> None:
    crossing = await trusted(Crossing(["cached"]))
    infer = crossing.engine.infer

    async def late(*_: object, **__: object) -> list[np.ndarray]:
        raise TooLate("too late")

    crossing.engine.infer = late  # type: ignore[assignment, method-assign]
    with pytest.raises(TooLate):
        await crossing.frame("blue")
    crossing.engine.infer = infer  # type: ignore[method-assign]
    assert crossing.cut.why_not is None
    assert await crossing.passing(COLOURS, 1) == {"cached": 4}


@pytest.mark.parametrize("kinds", [["cached"], ["specialised"]])
async def test_objects_that_are_answered_for_by_tracks_are_compared_by_what_their_looks_say_together(
    kinds: list[str],
) -> None:
    crossing = Crossing(kinds, per_track=True)  # type: ignore[arg-type]
    await crossing.tracks(COLOURS, 250)
    (kind,) = kinds
    plan = crossing.plan(kind)  # type: ignore[arg-type]
    assert (plan.phase, plan.agreement.disagreements) == ("trusted", 0)
    assert await crossing.tracks(COLOURS, 12) == {kind: 12}
    assert crossing.plan(kind).answers - plan.answers == 12  # type: ignore[arg-type]


async def test_looks_at_one_track_are_looks_at_one_object() -> None:
    crossing = Crossing(["cached"], per_track=True, maker=Maker(first=30))
    await crossing.tracks(COLOURS, 120)
    assert crossing.shared is not None
    held = crossing.held.of(crossing.shared.tuned.request.subject)
    assert held is not None
    assert held.shown is not None
    assert set(held.shown.objects) <= {f"cam/run-1/{track}" for track in range(1, 121)}
    assert 0 < held.shown.weights.min() <= held.shown.weights.max() <= 1
    looks = Crossing(["cached"], maker=Maker(first=30))
    await looks.passing(COLOURS, 30)
    assert looks.shared is not None
    held = looks.held.of(looks.shared.tuned.request.subject)
    assert held is not None
    assert held.shown is not None
    assert all(re.fullmatch(r"cam/run-1/\d+/[0-3]", each) for each in held.shown.objects), "frame and region"


async def test_words_that_name_nothing_are_one() -> None:
    crossing = Crossing(["specialised"], nameless="red")
    await crossing.until(lambda: crossing.phase() == "trusted", ("blue", "red", "grey"))
    head = crossing.special.of("cam").weg.state.head if crossing.special else None
    assert head is not None
    assert head.target.classes == (0, 3), "blue and unknown"
    assert {word for samples in crossing.maker.samples.values() for word, _ in samples} == {0, 3}
    said = await crossing.regions("red", "grey", "blue")
    assert [each.attributes[-1].label for each in said][1:] == ["unknown", "blue"]
    assert said[0].attributes[-1].label in ("red", "unknown")
    assert crossing.plan().agreement.disagreements == 0
