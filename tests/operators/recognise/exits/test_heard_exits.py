"""Exits are asked for, heard beside the network's end, tuned at growing numbers of looks, and exchanged for better."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.pooled import PoolRule, ShownLooks
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from learning.budget import FIRST_S, Budget, unlimited
from operators.recognise.exits import heard_exits
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.heard_exits import (
    IN_VAIN,
    LEAST_GAIN,
    MOST_IN_VAIN,
    OBJECTS_IN_VAIN,
    ExitsRequest,
    HeardExits,
)
from operators.recognise.exits.held_looks import HeldWindows
from operators.recognise.exits.saved_state import SavedExits
from operators.recognise.exits.tuning import ExitChoice
from operators.testing import FakeEngine, card_of
from tests.cache_adapt.learned.taught import SHA, SPEC, WORDS, exits, in_folds, samples
from tests.operators.recognise.exits.crossing import FIRST_TUNING
from tests.operators.recognise.exits.maker import Maker
from tests.turns import settled

SUBJECT = Subject("type", "vehicle", SHA, "words")
REPORT = ""
ALL = (0, 1, 2, WORDS.unknown)


async def heard(
    there: ExitArtefact | None = None,
    maker: Maker | None = None,
    subject: Subject = SUBJECT,
    rule: PoolRule | None = None,
) -> HeardExits:
    """What hears exits of an open network."""
    engine = FakeEngine(vehicle=(card_of("vehicle"), lambda _: []))
    engine.costs_s = {"vehicle": 0.01}
    cut = CutOracle(engine, "vehicle", lambda: SPEC.cuts, unlimited())
    await cut.open()
    request = ExitsRequest(
        subject, WORDS, SPEC.agreement, maker or Maker(1000), HeldWindows(), rule, teaches=there is None
    )
    return HeardExits(request, cut, there)


def looks(count: int, seed: int = 1, noises: Sequence[float] = (7.0, 4.0)) -> ExitRows:
    """Looks at as many objects, of one frame; ``noises``: as with ``samples``."""
    shown = ShownLooks.of([f"{seed}/{each}" for each in range(count)])
    return replace(in_folds(samples(count, seed, noises)), shown=shown)


def hear(known: HeardExits, rows: ExitRows, whole: int | None = None) -> None:
    """Looks have run on; at so many objects, None: at all, all of them do."""
    known.heard("cam", rows, np.arange(len(rows)) < (len(rows) if whole is None else whole))


async def tuned(known: HeardExits, words: Sequence[int] | None = None) -> ExitChoice | None:
    known.tune(words)
    await settled()
    return known.found


async def test_looks_are_offered_as_samples_before_there_are_exits() -> None:
    maker = Maker(1000)
    known = await heard(maker=maker)
    frame = looks(5)
    hear(known, frame)
    assert known.artefact is None
    assert [word for word, _ in maker.samples[SUBJECT]] == frame.words.tolist()
    rows = SPEC.layout.unpacked(np.stack([row for _, row in maker.samples[SUBJECT]]), frame.words)
    assert np.allclose(rows.taps[1], frame.taps[1], atol=0.01)
    assert np.allclose(rows.shares, frame.shares, atol=0.001)
    assert rows.weights.tolist() == frame.weights.tolist()


async def test_they_are_asked_for_by_what_tells_them_from_all_others_and_taken_when_they_come() -> None:
    maker = Maker(200)
    known = await heard(maker=maker)
    hear(known, looks(200))
    assert known.waits_for == "none are made yet"
    known.ask("")
    ((target, _),) = maker.wishes
    assert target == Target(SUBJECT, SPEC)
    assert (known.version, known.tuning_is_due) == (1, True), "on the looks that they have learnt from"
    assert known.data == maker.made[target].data
    assert known.waits_for == "200 looks are there to tune them on, and they are tuned next at 48"


async def test_what_comes_again_is_not_taken_again() -> None:
    maker = Maker(200)
    known = await heard(maker=maker)
    hear(known, looks(200))
    known.ask(REPORT)
    hear(known, looks(400, seed=2))
    assert known.tuning_is_due
    await tuned(known)
    known.ask(REPORT)
    assert known.found is not None, "what was found is kept"
    assert not known.tuning_is_due


@pytest.mark.parametrize("other", ["weights", "words", "cuts", "damaged", "empty"])
async def test_exits_that_cannot_be_used_are_refused_in_one_line_and_those_before_stay(
    other: str, caplog: pytest.LogCaptureFixture
) -> None:
    maker = Maker(200)
    known = await heard(maker=maker)
    hear(known, looks(200))
    known.ask(REPORT)
    before, (target, _) = known.artefact, maker.wishes[0]
    words = WORDS if other != "words" else type(WORDS)(4, 0.5)
    cuts = SPEC.cuts if other != "cuts" else (ExitCut("elsewhere", (6, 2, 2), 0.3), SPEC.cuts[1])
    identity = SHA if other != "weights" else "cd" * 32
    data = fit("vehicle", identity, ExitsSpec(cuts, words, 0.9), samples(200)).to_bytes()
    maker.give(target, {"damaged": data[:-9], "empty": b""}.get(other, data))
    for _ in range(2):
        known.ask(REPORT)
    assert known.artefact is before
    assert known.version == 2, "it is not tried again"
    (line,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert line.startswith("exits of type are not used: ")
    assert "\n" not in line


async def test_they_are_tuned_first_after_some_looks_and_then_at_twice_as_many() -> None:
    known = await heard(exits())
    known.begin()
    due = []
    for number in range(1, 400):
        hear(known, looks(1, seed=number))
        if known.tuning_is_due:
            due.append(number)
            await tuned(known)
    assert due == [FIRST_TUNING, 96, 192, 384]


async def test_what_a_tuning_finds_is_used_under_a_number_and_says_nothing_below_its_thresholds() -> None:
    known = await heard(exits())
    known.begin()
    hear(known, looks(400))
    found = await tuned(known)
    assert found is not None
    used = known.used(found, 7)
    assert (used.number, used.thresholds, used.spared, used.exits.classes) == (7, found.thresholds, found.spared, 4)
    assert set(used.exits.by_cut) == {
        cut.tensor for cut, threshold in zip(SPEC.cuts, found.thresholds, strict=True) if threshold
    }
    frame = looks(200, seed=9)
    said = used.answers(frame.taps, known.cut.cuts)
    answered = said.place < len(SPEC.cuts)
    assert 0 < answered.sum() < 200
    assert (said.distribution.sum(axis=1) > 0).tolist() == answered.tolist()
    assert (WORDS.of(said.distribution[answered]) == frame.words[answered]).mean() > 0.8


async def test_the_first_exit_that_is_sure_answers() -> None:
    known = await heard(exits())
    known.begin()
    both, late = (known.used(ExitChoice(each, None, 0.1), 1) for each in ((0.3, 0.3), (0.0, 0.3)))
    taps = looks(200, seed=9).taps
    first, second = (each.answers(taps, known.cut.cuts).place for each in (both, late))
    assert set(first.tolist()) == {0, 1, 2}
    assert set(second.tolist()) == {1, 2}
    assert ((first == 0) | (first == second)).all()


async def test_a_tuning_that_breaks_is_logged_and_another_one_follows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = await heard(exits())
    known.begin()
    hear(known, looks(400))
    with monkeypatch.context() as broken:
        broken.setattr(heard_exits, "chosen_on", lambda *_: 1 / 0)
        assert await tuned(known) is None
    assert caplog.messages == ["exits of type cannot be tuned"]
    hear(known, looks(400, seed=2))
    assert known.tuning_is_due
    assert await tuned(known) is not None


async def test_a_tuning_is_paid_and_counts_for_the_exits_that_it_was_made_for_only() -> None:
    known = await heard(exits())
    known.begin()
    hear(known, looks(400))
    known.tune(None)
    known._take(exits(300))
    await settled()
    assert known.found is None
    assert known.cut.budget.spent["training"] > 0
    known.found = ExitChoice((0.1, 0.1), None, 0.2)
    known._take(exits(200))
    assert known.found is None, "thresholds of others"
    assert known.tuning_is_due, "the looks that are held have taught them nothing"


async def test_a_tuning_waits_until_the_budget_of_learning_can_pay_it() -> None:
    known, used_s = await heard(exits()), 0.0
    known.cut.budget = Budget(0.05, lambda: used_s)
    known.begin()
    hear(known, looks(400))
    assert await tuned(known) is None
    assert known.tuning_is_due
    used_s = FIRST_S
    assert await tuned(known) is not None
    assert 0 < known.cut.budget.spent_s == pytest.approx(0.05 * FIRST_S - known.cut.budget.left_s)


async def test_a_tuning_that_fails_can_be_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    known = await heard(exits())
    known.begin()
    hear(known, looks(100))

    def broken(*_: object) -> None:
        raise ValueError("not today")

    with monkeypatch.context() as patch:
        patch.setattr(heard_exits, "chosen_on", broken)
        assert await tuned(known) is None
    hear(known, looks(300))
    assert known.tuning_is_due
    assert await tuned(known) is not None


async def test_others_take_the_place_of_exits_in_use_only_where_they_spare_much_more() -> None:
    known = await heard(exits())
    known.begin()
    used = known.used(ExitChoice((0.1, 0.1), None, 0.2), 1)
    assert known.is_better(ExitChoice((0.1, 0.1), None, 0.05), None)
    least = used.spared + LEAST_GAIN
    assert not known.is_better(ExitChoice((0.2, 0.2), None, least - 0.001), used)
    assert known.is_better(ExitChoice((0.2, 0.2), None, least + 0.001), used)


async def test_all_looks_teach_and_only_whole_objects_are_held() -> None:
    """Where exits answer, the looks of which they are sure have left, but for those at objects that were drawn."""
    maker = Maker(1000)
    known = await heard(maker=maker)
    frame = looks(10)
    hear(known, frame, whole=4)
    held = known.request.held.of(SUBJECT)
    assert held is not None
    assert held.shown is not None
    assert held.shown.objects == ["1/0", "1/1", "1/2", "1/3"]
    assert held.folds is not None
    assert held.folds.tolist() == [0, 1, 2, 0]
    assert [word for word, _ in maker.samples[SUBJECT]] == frame.words.tolist()
    hear(known, frame, whole=0)
    held = known.request.held.of(SUBJECT)
    assert held is not None
    assert (len(held), len(maker.samples[SUBJECT])) == (4, 20)


async def test_exits_that_nobody_makes_here_are_tuned_on_all_whole_objects() -> None:
    maker = Maker(1000)
    known = await heard(exits(), maker)
    known.begin()
    hear(known, looks(10), whole=4)
    held = known.request.held.of(SUBJECT)
    assert held is not None
    assert (len(held), len(maker.samples[SUBJECT])) == (4, 0)


async def test_newer_exits_are_tuned_at_once_on_the_looks_that_are_held() -> None:
    maker = Maker(200, versions=2)
    known = await heard(maker=maker)
    hear(known, looks(200))
    known.ask(REPORT)
    hear(known, looks(400, seed=2))
    first = await tuned(known)
    assert first is not None
    assert not known.tuning_is_due
    hear(known, looks(200, seed=3))
    known.ask(REPORT)
    assert known.version == 2
    assert known.tuning_is_due
    assert await tuned(known) is not None


async def test_looks_that_had_to_give_way_to_those_of_others_are_waited_for() -> None:
    known = await heard(exits())
    known.begin()
    hear(known, looks(FIRST_TUNING))
    known.request.held.forget(SUBJECT)
    assert await tuned(known) is None
    assert not known.tuning_is_due


async def test_where_looks_are_pooled_the_answers_of_objects_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = list[PoolRule | None]()
    monkeypatch.setattr(heard_exits, "chosen_on", lambda *given: rules.append(given[-1]))
    rule = PoolRule(WORDS.labels, 0.6, 0.7)
    for known in (await heard(exits()), await heard(exits(), rule=rule)):
        known.begin()
        hear(known, looks(200))
        await tuned(known)
    assert rules == [None, rule]


async def test_many_looks_without_anything_that_pays_are_in_vain() -> None:
    known = await heard(exits())
    known.begin()
    hear(known, looks(IN_VAIN - 1, noises=(400.0, 400.0)))
    assert await tuned(known) is None
    assert not known.is_in_vain
    hear(known, looks(1))
    assert known.is_in_vain
    known._take(exits(300))
    hear(known, looks(IN_VAIN - 1, noises=(400.0, 400.0)))
    assert await tuned(known) is None
    assert not known.is_in_vain, "newer exits have a chance of their own"
    hear(known, looks(1))
    assert known.is_in_vain
    known.try_again()
    assert not known.is_in_vain
    assert known.request.held.size_bytes > 0, "the looks are kept"
    known.forget_held()
    assert not known.is_in_vain
    assert known.request.held.size_bytes == 0


async def test_few_objects_that_are_looked_at_often_are_not_many_looks() -> None:
    known = await heard(exits())
    known.begin()
    many = looks(IN_VAIN, noises=(400.0, 400.0))
    few = ShownLooks.of([str(row % (OBJECTS_IN_VAIN - 1)) for row in range(IN_VAIN)])
    hear(known, replace(many, shown=few))
    assert await tuned(known) is None
    assert not known.is_in_vain
    hear(known, looks(1, seed=2))
    assert known.is_in_vain
    known.try_again()
    for _ in range(MOST_IN_VAIN // IN_VAIN):
        assert not known.is_in_vain
        hear(known, replace(many, shown=few))
        await tuned(known)
    assert known.is_in_vain, "few objects are enough in the end"


async def test_exits_that_were_there_are_heard_from_the_beginning_and_once() -> None:
    known = await heard(exits())
    known.begin()
    hear(known, looks(FIRST_TUNING))
    known.begin()
    assert known.tuning_is_due


async def test_thresholds_that_were_brought_are_used_at_once_where_they_promise_enough() -> None:
    known = await heard(exits().tuned((0.25, 0.0), (0.4, 0.0), SPEC.agreement))
    known.begin()
    found = known.found
    assert found is not None
    assert (found.thresholds, found.words, found.spared) == ((0.25, 0.0), None, pytest.approx(0.4 * 0.7))
    known.found = None
    known.begin()
    assert known.found is None, "once"
    for other in (exits().tuned((0.25, 0.0), (0.4, 0.0), SPEC.agreement - 0.01), exits()):
        known = await heard(other)
        known.begin()
        assert known.found is None
        assert known.artefact is not None, "they are tuned here"


async def test_what_was_saved_is_used_again_where_it_fits(caplog: pytest.LogCaptureFixture) -> None:
    known, data = await heard(), exits().to_bytes()
    found = known.restore(3, data, SavedExits(5, [0.0, 0.25], 0.3), ALL)
    assert found is not None
    assert (found.number, found.thresholds, found.spared, known.version) == (5, (0.0, 0.25), 0.3, 3)
    assert set(found.exits.by_cut) == {"late"}
    assert nothing_is_used(await heard(), b"", SavedExits(5, [0.0, 0.25], 0.3))
    assert nothing_is_used(await heard(), data, None)
    assert nothing_is_used(await heard(), data, SavedExits(5, [0.25], 0.3))
    assert caplog.records == []
    assert nothing_is_used(await heard(), data[:100], SavedExits(5, [0.0, 0.25], 0.3))
    other = await heard(subject=Subject("type", "vehicle", "cd" * 32, "words"))
    assert nothing_is_used(other, data, SavedExits(5, [0.0, 0.25], 0.3))
    assert len(caplog.records) == 2


def nothing_is_used(known: HeardExits, data: bytes, used: SavedExits | None) -> bool:
    return known.restore(3, data, used, ALL) is None


async def test_a_tuning_that_is_under_way_at_the_end_is_paid_and_nothing_stays_set_aside() -> None:
    known = await heard(exits())
    known.cut.budget = Budget(1.0, lambda: 100.0)
    known.begin()
    hear(known, looks(400))
    known.tune(None)
    known.close()
    assert known.request.held.of(known.request.subject) is None
    await settled()
    assert known.cut.budget.left_s == pytest.approx(100.0 - known.cut.budget.spent["training"])
