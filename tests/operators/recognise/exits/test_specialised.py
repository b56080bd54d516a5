"""Exits of one stream: WEG asks for them, they are made, tuned, prove themselves, answer, and are left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from learning.budget import FIRST_S, Budget
from operators.recognise.exits import specialised
from operators.recognise.exits.account import FIRST_GAP, PATIENCE
from operators.recognise.exits.node_exits import TOGETHER
from operators.recognise.exits.specialised import SpecialisedStream
from specialization.weg.state import WegState
from tests.operators.recognise.exits.crossing import CUT, FIRST_TUNING, ROWS, Crossing
from tests.operators.recognise.exits.maker import Maker

MOSTLY_BLUE = ("blue", "blue", "green", "blue", "grey")
MOSTLY_RED = ("red",) * 16 + ("green", "blue", "red")
BLUE_AND_GREEN = ("blue", "blue", "green")
SELDOM_RED = 10 * BLUE_AND_GREEN + ("red",)


def stream(crossing: Crossing, name: str = "cam") -> SpecialisedStream:
    assert crossing.special is not None
    return crossing.special.of(name)


def state(crossing: Crossing) -> WegState:
    return stream(crossing).weg.state


async def serving(colours: tuple[str, ...] = BLUE_AND_GREEN, crossing: Crossing | None = None) -> Crossing:
    """A crossing of whose looks exits answer nearly all."""
    found = crossing or Crossing()
    await found.passing(colours, 100)
    assert found.phase() == "trusted"
    assert (await found.passing(colours, 5))["specialised"] == 20
    return found


async def test_as_long_as_weg_does_not_ask_nothing_is_opened_and_nothing_is_kept() -> None:
    crossing = Crossing()
    await crossing.passing(BLUE_AND_GREEN, 7)  # 28 answers, two less than the first window
    assert (crossing.found_cuts, crossing.maker.samples, crossing.looks(CUT)) == (0, {}, 0)
    assert state(crossing).phase == "initialising"


async def test_from_the_first_question_to_the_first_answer() -> None:
    crossing = Crossing(maker=Maker(first=60))
    await crossing.until(lambda: state(crossing).phase == "training", BLUE_AND_GREEN)
    asked = crossing.looks("net")
    assert 28 <= asked <= 80
    assert crossing.looks(CUT) == 0
    await crossing.until(lambda: crossing.cut.is_open, BLUE_AND_GREEN)
    assert not crossing.maker.wishes
    await crossing.until(lambda: bool(crossing.maker.made), BLUE_AND_GREEN)
    made_at = crossing.looks(CUT)
    assert 60 <= made_at + TOGETHER < 2 * 60, "all objects teach"
    await crossing.until(lambda: state(crossing).phase == "specialised", BLUE_AND_GREEN, 5)
    assert made_at >= FIRST_TUNING, "the same are there to tune them"
    assert crossing.phase() == "shadow"
    assert crossing.heard.calls["exits_made"] == [("cam", "type", ("blue", "green"), True)]
    await crossing.until(lambda: crossing.phase() == "trusted", BLUE_AND_GREEN, 10)
    assert await crossing.passing(BLUE_AND_GREEN, 20) == {"specialised": 80}
    assert state(crossing).numbers == 1, "the first exits that were asked for are those that answer"


async def test_objects_that_were_looked_at_in_the_shadow_are_not_held_against_exits_once_these_answer() -> None:
    """When the proof is there, several objects are in sight that the oracle alone has named."""
    for per_track in (False, True):
        crossing = Crossing(per_track=per_track)
        number = 0
        for at in range(400):
            tracks = [4 * (at // 4) + place for place in range(4)]  # all four pass together
            await crossing.regions(*(BLUE_AND_GREEN[each % 3] for each in tracks), tracks=tracks)
            number = max(number, state(crossing).numbers)
        assert crossing.phase() == "trusted"
        assert (state(crossing).epoch, number) == (1, 1)


async def test_what_is_published_is_what_the_oracle_would_have_said() -> None:
    crossing = await serving(MOSTLY_BLUE)
    assert await crossing.frame("blue", "grey", "green", "blue") == ["blue", "unknown", "green", "blue"]
    (region, *_) = await crossing.regions("blue")
    found = region.attributes[-1]
    assert (found.provenance, found.model.tier, found.model.variant) == ("specialised", "specialised", "exit@1")


async def test_words_that_weg_has_not_asked_for_are_never_said_by_exits() -> None:
    crossing = Crossing()
    await crossing.until(lambda: crossing.phase() == "trusted", SELDOM_RED)
    head = state(crossing).head
    assert head is not None
    assert [stream(crossing).words[each] for each in head.target.classes] == ["blue", "green"]
    (red, blue) = await crossing.regions("red", "blue")
    assert (red.attributes[-1].label, red.attributes[-1].provenance) == ("red", "oracle")
    assert blue.attributes[-1].provenance == "specialised"


async def test_where_other_words_come_the_exits_are_left_and_made_for_these() -> None:
    crossing = Crossing()
    await crossing.until(lambda: crossing.phase() == "trusted", SELDOM_RED)
    given = await crossing.passing(["red"], 10)
    assert given["specialised"] == 0
    assert state(crossing).epoch == 2, "the skew fell"
    await crossing.until(lambda: state(crossing).phase == "specialised", MOSTLY_RED)
    await crossing.passing(MOSTLY_RED, 1)
    assert crossing.phase() == "shadow"
    await crossing.until(lambda: crossing.phase() == "trusted", MOSTLY_RED)
    head = state(crossing).head
    assert head is not None
    assert 2 in head.target.classes
    assert await crossing.passing(["red"], 5) == {"specialised": 20}


async def test_exits_of_an_earlier_epoch_come_back_at_once_when_their_words_do() -> None:
    crossing = Crossing()
    await crossing.until(lambda: crossing.phase() == "trusted", SELDOM_RED)
    first, made = state(crossing).head, stream(crossing).in_use
    await crossing.passing(["red"], 10)
    assert state(crossing).head is None
    await crossing.until(lambda: state(crossing).head is not None, SELDOM_RED, 20)
    assert state(crossing).head == first
    assert stream(crossing).in_use is made
    assert (await crossing.passing(["blue"], 5)) == {"specialised": 20}


async def test_exits_that_the_audit_contradicts_are_switched_off_and_forgotten() -> None:
    crossing = await serving()
    crossing.words["blue"] = "red"  # the network says something else of what looks the same
    given = await crossing.passing(["blue"], 300)
    assert given["oracle"] > 800
    assert state(crossing).epoch > 1 or crossing.phase() == "off"
    assert stream(crossing).in_use is None or crossing.phase() != "trusted"
    assert await crossing.frame("blue") == ["red"]
    assert crossing.heard.calls["audit_disagreed"]


async def test_exits_that_are_barred_are_asked_for_again_after_a_while() -> None:
    crossing = await serving()
    assert crossing.special is not None
    crossing.special.of("cam").barred()
    assert (state(crossing).known, state(crossing).head, stream(crossing).in_use) == ([], None, None)
    assert not stream(crossing).wants_taps
    before = crossing.looks(CUT)
    await crossing.passing(BLUE_AND_GREEN, FIRST_GAP // 4 - 1)
    assert crossing.looks(CUT) == before, "they cost nothing meanwhile"
    await crossing.until(lambda: crossing.looks(CUT) > before, BLUE_AND_GREEN)
    await crossing.until(lambda: stream(crossing).in_use is not None, BLUE_AND_GREEN)
    assert await crossing.passing(BLUE_AND_GREEN, 2) == {"oracle": 8}
    assert crossing.phase() == "shadow", "they have to prove themselves anew"


async def test_exits_that_spare_nothing_are_given_up_and_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.recognise.exits.heard_exits.IN_VAIN", 75)
    monkeypatch.setattr("operators.recognise.exits.heard_exits.chosen_on", lambda *_: None)
    crossing = Crossing()
    while crossing.seq < 300 and stream(crossing).account.may_try:
        await crossing.passing(BLUE_AND_GREEN, 1)
    assert not stream(crossing).account.may_try
    assert crossing.heard.calls["exits_made"] == [("cam", "type", ("blue", "green"), False)]
    reason = "exits for blue, green: they would save too little"
    found = crossing.plan().specialization
    assert found is not None
    assert (found.phase, found.reason) == ("initialising", reason)
    cut = crossing.looks(CUT)
    await crossing.passing(BLUE_AND_GREEN, FIRST_GAP // 4 - 1)
    assert crossing.looks(CUT) == cut
    await crossing.until(lambda: crossing.looks(CUT) > cut, BLUE_AND_GREEN)
    assert crossing.phase() == "shadow"


async def test_exits_that_cost_more_than_they_save_are_left() -> None:
    crossing = await serving()
    saved = stream(crossing).account.seconds.saved
    crossing.engine.costs_s[CUT] = 0.0201
    took = await crossing.until(lambda: stream(crossing).in_use is None, BLUE_AND_GREEN)
    assert ROWS * took == pytest.approx(PATIENCE, abs=ROWS), "a look costs twice as much as the oracle's"
    assert stream(crossing).account.seconds.saved == pytest.approx(saved - PATIENCE * crossing.cut.whole_s, rel=0.1)
    assert not stream(crossing).account.may_try
    assert await crossing.passing(BLUE_AND_GREEN, 5) == {"oracle": 20}


async def test_better_exits_take_the_place_of_those_in_use_and_prove_themselves_anew() -> None:
    crossing = await serving(crossing=Crossing(maker=Maker(first=60, versions=1)))
    used = stream(crossing).in_use
    assert used is not None
    stream(crossing)._kept[used.number] = replace(used, spared=0.0)
    crossing.maker.versions = 2
    for _ in range(400):
        await crossing.passing(BLUE_AND_GREEN, 5)
        now = stream(crossing).in_use
        if now is not None and now.number > used.number:
            break
    assert now is not None
    assert now.number == used.number + 1
    assert now.spared > 0
    await crossing.passing(BLUE_AND_GREEN, 40)
    assert crossing.phase() == "trusted"
    assert crossing.plan().agreement.disagreements == 0


async def test_before_the_network_is_cut_nothing_is_made_ready() -> None:
    used_s = 0.0
    crossing = Crossing(["specialised"], budget=Budget(0.5, lambda: used_s))
    await crossing.until(lambda: state(crossing).wanted is not None, BLUE_AND_GREEN)
    await crossing.passing(BLUE_AND_GREEN, 5)
    assert stream(crossing)._tuned is None
    used_s = 10 * FIRST_S
    await crossing.until(lambda: stream(crossing)._tuned is not None, BLUE_AND_GREEN)


async def test_exits_go_on_answering_while_newer_ones_are_made_and_tuned() -> None:
    crossing = await serving(crossing=Crossing(maker=Maker(first=60, versions=1)))
    used = stream(crossing).in_use
    assert used is not None
    crossing.maker.versions = 2
    for _ in range(200):
        assert (await crossing.passing(BLUE_AND_GREEN, 5))["specialised"] >= 16
        if stream(crossing).tuned.version > used.version and not stream(crossing).tuned.tuning_is_due:
            break
    assert stream(crossing).tuned.version > used.version
    assert stream(crossing).in_use is used, "those spare little more"


async def test_another_worker_goes_on_with_the_exits_in_use_though_newer_ones_have_come() -> None:
    crossing = await serving(crossing=Crossing(maker=Maker(first=60, versions=1)))
    used = stream(crossing).in_use
    assert used is not None
    crossing.maker.versions = 2
    await crossing.until(lambda: stream(crossing).tuned.version > used.version, BLUE_AND_GREEN)
    assert stream(crossing).in_use is used
    saved = stream(crossing).state()
    assert (saved.version, saved.artefact) == (used.version, used.data)
    assert saved.in_use is not None
    assert tuple(saved.in_use.thresholds) == used.thresholds


async def test_streams_have_exits_of_their_own() -> None:
    crossing = Crossing()
    for _ in range(100):
        await crossing.passing(SELDOM_RED, 1, "left")
        await crossing.passing(MOSTLY_RED, 1, "right")
    assert crossing.special is not None
    left, right = (crossing.special.of(each).in_use for each in ("left", "right"))
    assert left is not None
    assert right is not None
    subjects = {subject.stream: len(samples) for subject, samples in crossing.maker.samples.items()}
    assert set(subjects) == {"left", "right"}
    (red, *_) = await crossing.regions("red", stream="left")
    assert red.attributes[-1].provenance == "oracle"
    (red, *_) = await crossing.regions("red", stream="right")
    assert red.attributes[-1].provenance == "specialised"
    assert crossing.found_cuts == 1, "both run through one network"


async def test_a_stream_that_is_forgotten_begins_anew() -> None:
    crossing = await serving()
    crossing.node.forget("cam")
    assert crossing.special is not None
    assert crossing.special.of("cam").in_use is None
    assert (await crossing.passing(BLUE_AND_GREEN, 5)) == {"oracle": 20}


def test_rules_are_shared_by_nodes_with_as_many_words() -> None:
    assert specialised.rules(4, 0.9) is specialised.rules(4, 0.9)
    assert specialised.rules(4, 0.9).config.tau_a == pytest.approx(-0.1)
