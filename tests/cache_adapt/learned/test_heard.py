"""What exits said of inputs beside the end's words, and how much that tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.learned.heard import CORRELATION, Heard, numbered
from tests.cache_adapt.learned.taught import LABELS, WORDS, exits, samples


def heard(count: int = 400, seed: int = 1) -> Heard:
    return Heard.of(exits().exits, samples(count, seed))


def test_an_input_leaves_at_the_first_exit_that_is_sure():
    known = heard()
    thresholds = np.array([0.1, 0.3])
    found = known.chain(thresholds)
    for row in range(400):
        sure = [exit_ for exit_ in (0, 1) if known.errors[exit_, row] < thresholds[exit_]]
        assert found.place[row] == (sure[0] if sure else 2)
        assert found.right[row] == (not sure or known.said[sure[0], row] == known.words[row])
    assert set(found.place.tolist()) == {0, 1, 2}


def test_the_chain_says_what_the_exits_say_as_they_answer():
    known, rows = heard(), samples(400, 1)
    place = known.chain(np.array([0.2, 0.2])).place
    first = exits().exits[0].at(0.2).look(rows.taps[0])
    assert (place == 0).tolist() == first.hit.tolist()
    assert WORDS.of(first.distribution[first.hit]).tolist() == known.said[0][first.hit].tolist()


def test_words_that_an_exit_may_not_say_are_never_sure():
    may = np.zeros(LABELS + 1, np.bool_)
    may[[0, 2]] = True
    known, everything = heard().only(may), np.ones(2)
    found = known.chain(everything)
    answered = found.place < 2
    assert 0 < answered.sum() < 400
    assert np.isin(known.said[found.place[answered], np.flatnonzero(answered)], [0, 2]).all()
    assert heard().only(None).chain(everything).place.max() == 0


def test_no_exits_answer_nothing():
    assert heard().at(()).chain(np.zeros(0)).place.tolist() == [0] * 400


def test_unequal_weights_are_less_evidence():
    known = heard(100)
    wrong, all_ = np.arange(100) < 10, np.ones(100, np.bool_)
    assert known.evidence(wrong, all_) == pytest.approx((10, 100))
    weights = np.where(wrong, 20, 1).astype(np.float32)
    successes, trials = replace(known, weights=weights).evidence(wrong, all_)
    assert trials == pytest.approx(290**2 / (10 * 400 + 90))
    assert successes / trials == pytest.approx(200 / 290)
    assert known.evidence(wrong, ~all_) == (0.0, 0.0)


@pytest.mark.parametrize(("looks", "effect"), [(1, 1), (4, 1 + 3 * CORRELATION), (100, 1 + 99 * CORRELATION)])
def test_looks_at_one_object_are_less_evidence(looks: int, effect: float):
    known = replace(heard(100), objects=np.arange(100) // looks)
    wrong, all_ = np.arange(100) < 10, np.ones(100, np.bool_)
    assert known.evidence(wrong, all_) == pytest.approx((10 / effect, 100 / effect))


def test_only_objects_among_the_rows_that_count_are_alike():
    known = replace(heard(100), objects=np.arange(100) // 4)
    first_looks = np.arange(100) % 4 == 0
    assert known.evidence(first_looks, first_looks) == pytest.approx((25, 25))


def test_objects_are_numbered_as_they_come():
    assert numbered(["b", ("a", 1), "b", "c"]).tolist() == [0, 1, 0, 2]
    assert numbered([]).tolist() == []
