"""Exits are tuned for the words that they may say, and used only where they spare something."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.learned.heard import Heard
from operators.recognise.exits import expected
from operators.recognise.exits.cut_oracle import LookSeconds
from operators.recognise.exits.tuning import HEDGE, WORTH, ExitChoice, answers_of, chosen
from tests.cache_adapt.learned.taught import SPEC, exits, listened, samples

LOOK_S = 0.01
UNKNOWN = SPEC.vocabulary.unknown
ALL = (0, 1, 2, UNKNOWN)
"""Label 3 names nothing: nobody says it."""


@pytest.fixture(scope="module")
def made() -> Heard:
    """600 looks of which exits were heard that never saw them, each at an object of its own."""
    return heard([str(each) for each in range(600)])


def heard(objects: list[str]) -> Heard:
    return listened(exits(), samples(600, seed=3), objects)


def of(looks: Heard, words: tuple[int, ...] | None, whole_s: float = LOOK_S) -> ExitChoice:
    found = chosen(exits(), looks, SPEC, words, LookSeconds(whole_s))
    assert found is not None
    return found


def test_words_are_a_mask_and_none_means_all() -> None:
    assert answers_of(None, 4) is None
    mask = answers_of((0, 4), 4)
    assert mask is not None
    assert mask.tolist() == [True, False, False, False, True]
    mask = answers_of((7,), 4)
    assert mask is not None
    assert not mask.any(), "a word that is not there any more"


def test_exits_for_all_words_and_for_each_of_them_are_the_same(made: Heard) -> None:
    both = of(made, None), of(made, ALL)
    assert both[0].thresholds == both[1].thresholds
    assert (both[0].words, both[1].words) == (None, ALL)
    assert both[0].spared == both[1].spared > WORTH


def test_with_fewer_words_less_is_spared_and_other_words_are_not_said(made: Heard) -> None:
    few, every = of(made, (0, UNKNOWN)), of(made, None)
    assert few.spared < every.spared
    taps = samples(200, seed=9).taps
    for exit_ in few.asked(exits()):
        tap = taps[SPEC.cuts.index(next(cut for cut in SPEC.cuts if cut.tensor == exit_.tensor))]
        hit = exit_.look(tap).hit
        assert hit.any()
        assert set(exit_.words(tap).words[hit]) <= {0, UNKNOWN}


def test_an_exit_without_threshold_is_not_asked() -> None:
    choice = ExitChoice((0.0, 0.2), None, 0.1)
    assert [(each.tensor, each.threshold) for each in choice.asked(exits())] == [("late", 0.2)]


def test_a_look_that_takes_no_longer_than_cuts_and_lookups_is_not_worth_it(made: Heard) -> None:
    spared = [of(made, None, look_s).spared for look_s in (1.0, 0.01, 0.003)]
    assert spared == sorted(spared, reverse=True)
    assert chosen(exits(), made, SPEC, None, LookSeconds(0.001)) is None


def test_exits_that_spare_less_than_they_are_worth_are_not_used(made: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    spared = of(made, None).spared
    monkeypatch.setattr("operators.recognise.exits.tuning.WORTH", spared + 0.001)
    assert chosen(exits(), made, SPEC, None, LookSeconds(LOOK_S)) is None
    monkeypatch.setattr("operators.recognise.exits.tuning.WORTH", spared)
    assert chosen(exits(), made, SPEC, None, LookSeconds(LOOK_S)) is not None


def test_looks_at_the_same_objects_tell_less_so_that_less_is_answered(made: Heard) -> None:
    alike = heard([str(each // 30) for each in range(600)])
    found = chosen(exits(), alike, SPEC, None, LookSeconds(LOOK_S))
    assert found is None or found.spared < of(made, None).spared


def test_rates_are_those_of_the_looks_and_of_other_words_as_far_as_these_were_seen(
    made: Heard,
) -> None:
    rates = of(made, (0, 1)).rates
    assert rates is not None
    assert rates.a_in + rates.e_in_out == pytest.approx(1, abs=0.1)
    assert expected.RATES.a_out < rates.a_out < 1
    # Where nothing else is shown, what is expected of other words holds.
    everything = of(made, ALL).rates
    assert everything is not None
    assert everything.a_out == pytest.approx(expected.RATES.a_out)


def test_few_looks_at_other_words_do_not_outweigh_what_is_expected(made: Heard) -> None:
    mine = np.isin(made.words, (0, UNKNOWN))
    kept = sorted([*np.flatnonzero(mine), np.flatnonzero(~mine)[0]])
    few = listened(exits(), samples(600, seed=3).of(np.array(kept)))
    rates = of(few, (0, UNKNOWN)).rates
    assert rates is not None
    assert rates.a_out == pytest.approx((1 + HEDGE * expected.RATES.a_out) / (1 + HEDGE), abs=1 / HEDGE)
