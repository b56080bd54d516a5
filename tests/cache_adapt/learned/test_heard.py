"""What exits said of inputs beside the end's words, and how much that tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.learned.fit import fit
from cache_adapt.learned.heard import CORRELATION, Heard, Judged, numbered
from cache_adapt.learned.pooled import PoolRule, ShownLooks
from cache_adapt.learned.rows import FOLDS
from tests.cache_adapt.learned.taught import LABELS, SHA, SPEC, WORDS, exits, in_folds, listened, samples

RULE = PoolRule(words=LABELS + 1, correlation=0.6, part=0.7)


def heard(count: int = 400, seed: int = 1) -> Heard:
    return listened(exits(), samples(count, seed))


def judged(wrong: Sequence[int], count: int, alike: Sequence[int] | None = None) -> Judged:
    """So many answers, of which these are wrong; exits have a part in all, and all have names."""
    every = np.ones(count, np.bool_)
    return Judged(np.isin(np.arange(count), wrong), every, every, None if alike is None else np.array(alike))


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


def test_as_many_answers_as_there_are_tell_of_those_that_are_wrong():
    found = judged(range(10), 100)
    assert found.evidence(found.answered) == pytest.approx((10, 100))
    assert found.evidence(~found.answered) == (0.0, 0.0)
    assert (found.share(found.answered), found.share(~found.answered)) == (0.1, 0.0)


@pytest.mark.parametrize(("looks", "effect"), [(1, 1), (4, 1 + 3 * CORRELATION), (100, 1 + 99 * CORRELATION)])
def test_answers_for_one_object_are_less_evidence(looks: int, effect: float):
    found = judged(range(10), 100, np.arange(100) // looks)
    assert found.evidence(found.answered) == pytest.approx((10 / effect, 100 / effect))


def test_only_objects_among_the_answers_that_count_are_alike():
    first_looks = np.arange(100) % 4 == 0
    found = judged(range(0, 100, 4), 100, np.arange(100) // 4)
    assert found.evidence(first_looks) == pytest.approx((25, 25))


def test_without_pools_each_look_is_an_answer():
    known = heard()
    answers = known.chain(np.array([0.1, 0.3]))
    found = known.judged(answers)
    assert found.wrong.tolist() == (~answers.right).tolist()
    assert found.answered.tolist() == (answers.place < 2).tolist()
    assert found.named.tolist() == (known.words != LABELS).tolist()


def test_with_pools_each_object_is_an_answer():
    rows, names = samples(400, 1), [str(row // 4) for row in range(400)]
    known = listened(exits(), rows, names, RULE)
    answers = known.chain(np.array([0.1, 0.3]))
    found = known.judged(answers)
    assert len(found.wrong) == len(found.answered) == len(found.named) == 100
    assert found.alike is None
    assert found.answered.tolist() == (answers.place < 2).reshape(100, 4).any(axis=1).tolist()
    silent = known.judged(known.chain(np.zeros(2)))
    assert not silent.wrong.any()
    assert not silent.answered.any()
    assert not found.wrong[~found.answered].any(), "what no exit has looked at is as the end says"


def test_each_look_is_heard_by_exits_that_have_not_seen_its_fold():
    rows = replace(in_folds(samples(60, 1)), shown=ShownLooks.of([str(row) for row in range(60)]))
    artefact = fit("vehicle", SHA, SPEC, in_folds(samples(300, 2)))
    found = Heard.unseen(artefact, rows, RULE)
    for fold in range(FOLDS):
        mine = rows.of(rows.folds == fold)
        alone, place = Heard.of(artefact.unseen(fold), mine, RULE), slice(20 * fold, 20 * fold + 20)
        assert np.allclose(found.errors[:, place], alone.errors)
        assert found.words[place].tolist() == mine.words.tolist()
    assert found.pooled is not None
    assert found.pooled.count == 60


def test_objects_are_numbered_as_they_come():
    assert numbered(["b", ("a", 1), "b", "c"]).tolist() == [0, 1, 0, 2]
    assert numbered([]).tolist() == []
