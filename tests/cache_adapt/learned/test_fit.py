"""Exits that are fitted to samples say what the network's end says, and how sure they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.learned.fit import MOST_ROWS, MOST_WORDS, TooEarly, fit
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import FOLDS, ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from serving.errors import ModelError, SluiceError
from tests.cache_adapt.learned.taught import SHA, SPEC, WORDS, exits, in_folds, samples


def test_later_exits_are_right_more_often_and_all_are_surer_where_they_are_right():
    artefact, later = exits(), samples(2000, seed=1)
    found = [each.words(tap) for each, tap in zip(artefact.exits, later.taps, strict=True)]
    right = [each.words == later.words for each in found]
    assert 0.6 < right[0].mean() < right[1].mean()
    for saying, fits in zip(found, right, strict=True):
        assert saying.errors[fits].mean() < 0.8 * saying.errors[~fits].mean()
    assert artefact.tensors == ("early", "late")
    assert artefact.card.samples == 600


def test_unknown_is_learnt_as_a_word_and_a_label_without_a_name_is_none():
    artefact, later = exits(), samples(2000, seed=1)
    assert artefact.exits[1].seen == (0, 1, 2, WORDS.unknown)
    unknown = later.words == WORDS.unknown
    said = artefact.exits[1].words(later.taps[1]).words
    assert (said[unknown] == WORDS.unknown).mean() > 0.75


def test_what_was_nearly_named_teaches_less_than_what_was_clear():
    words, tap = Vocabulary(2, 0.7), np.tile([[1], [-1]], (200, 1)).astype(np.float32)
    spec = ExitsSpec((ExitCut("plain", (1, 1, 1), 0.5),), words, 0.9)

    def surest(named: float, unnamed: float) -> float:
        share = np.where(tap[:, 0] > 0, named, unnamed).astype(np.float32)
        shares = np.stack([share, 1 - share], axis=1)
        (known,) = fit("vehicle", SHA, spec, ExitRows([tap], shares, words.of(shares), np.ones(400, np.float32))).exits
        return float(known.probabilities(tap).max())

    assert surest(1.0, 0.5) > 0.85
    assert surest(0.73, 0.67) < 0.65, "though the tap tells all words apart"


def test_an_answer_tells_the_ends_probabilities():
    artefact, later = fit("vehicle", SHA, SPEC, samples(noises=(2, 1))), samples(2000, 1, noises=(2, 1))
    found = artefact.exits[1].at(1.0).look(later.taps[1])
    assert found.hit.all()
    agreed = WORDS.of(found.distribution) == later.words
    assert np.abs(found.distribution - later.shares)[agreed].mean() < 0.06


def test_new_exits_answer_nothing():
    assert not exits().exits[1].look(samples(50).taps[1]).hit.any()


def test_equal_samples_give_equal_exits():
    assert exits(300).to_bytes() == exits(300).to_bytes()


def test_rows_count_by_their_weights():
    rows = samples(300)
    twice = np.repeat(np.arange(300), np.where(np.arange(300) % 3, 1, 4))
    heavy = replace(rows, weights=np.where(np.arange(300) % 3, 1, 4).astype(np.float32))
    one, other = (fit("vehicle", SHA, SPEC, each) for each in (heavy, rows.of(twice)))
    tap = samples(50, seed=2).taps[0]
    np.testing.assert_allclose(
        one.exits[0].at(1.0).look(tap).distribution, other.exits[0].at(1.0).look(tap).distribution, atol=0.05
    )


def test_only_the_newest_rows_are_trained_on():
    old, new = samples(100, seed=3), samples(MOST_ROWS, seed=4)
    taps = [np.concatenate(each) for each in zip(old.taps, new.taps, strict=True)]
    shares, words = np.concatenate([old.shares, new.shares]), np.concatenate([old.words, new.words])
    rows = ExitRows(taps, shares, words, np.ones(len(words), np.float32))
    both = fit("vehicle", SHA, SPEC, rows)
    assert both.to_bytes() == fit("vehicle", SHA, SPEC, new).to_bytes()


def test_samples_of_one_word_teach_nothing():
    rows = samples(300)
    with pytest.raises(SluiceError, match="same word"):
        fit("vehicle", SHA, SPEC, rows.of(rows.words == 1))
    with pytest.raises(SluiceError, match="same word"):
        fit("vehicle", SHA, SPEC, rows.of(slice(0)))


def test_of_many_words_the_commonest_are_learnt():
    labels = 3 * MOST_WORDS
    rng = np.random.default_rng(0)
    shares = np.eye(labels, dtype=np.float32)[rng.integers(0, labels, 600) ** 2 // labels]
    spec = ExitsSpec((ExitCut("early", (labels, 1, 1), 0.3),), Vocabulary(labels, 0.5), 0.9)
    rows = ExitRows([shares], shares, shares.argmax(axis=1), np.ones(600, np.float32))
    (known,) = fit("names", SHA, spec, rows).exits
    assert len(known.seen) == MOST_WORDS
    assert known.soft.labels == known.seen
    common = np.isin(rows.words, known.seen)
    assert (known.words(shares[common]).words == rows.words[common]).mean() > 0.9


def test_a_tap_with_too_many_values_is_refused():
    spec = ExitsSpec((ExitCut("wide", (4096, 1, 1), 0.3),), WORDS, 0.9)
    rows = samples(100)
    with pytest.raises(ModelError, match="'wide' has too many values"):
        fit("vehicle", SHA, spec, replace(rows, taps=[np.zeros((100, 4096), np.float32)]))


def test_each_fold_has_exits_that_have_not_seen_it():
    rows = in_folds(samples(600))
    artefact, later = fit("vehicle", SHA, SPEC, rows), samples(200, seed=1)
    assert (artefact.card.folds, len(artefact.folds)) == (FOLDS, FOLDS)
    plain = exits()
    assert plain.folds == ()
    assert plain.unseen(2) is plain.exits
    tap, shares = later.taps[1], rows.shares.copy()
    shares[1::FOLDS] = shares[1::FOLDS, ::-1]
    wrong = fit("vehicle", SHA, SPEC, replace(rows, shares=shares, words=WORDS.of(shares)))
    for fold in range(FOLDS):
        one, other = (each.unseen(fold)[1].probabilities(tap) for each in (artefact, wrong))
        assert np.allclose(one, other) == (fold == 1), "one fold was taught other words"


def test_exits_of_folds_are_judged_as_on_objects_that_nobody_has_seen():
    rng, rows = np.random.default_rng(0), in_folds(samples(150, noises=(60.0, 40.0)))
    artefact = fit("vehicle", SHA, SPEC, rows)
    unseen = Heard.unseen(artefact, replace(rows, shown=ShownLooks.of([str(each) for each in rng.permutation(150)])))
    later = samples(3000, seed=1, noises=(60.0, 40.0))
    new = (artefact.exits[1].words(later.taps[1]).words == later.words).mean()
    assert abs((unseen.said[1] == unseen.words).mean() - new) < 0.1
    assert (artefact.exits[1].words(rows.taps[1]).words == rows.words).mean() > new + 0.1, "by heart"


def test_samples_that_say_the_same_word_outside_of_a_fold_are_waited_on():
    rows = samples(300)
    with pytest.raises(TooEarly, match="300 samples show too few objects"):
        fit("vehicle", SHA, SPEC, replace(rows, folds=np.zeros(300, np.intp)))
    with pytest.raises(TooEarly, match="too few objects"):
        fit("vehicle", SHA, SPEC, replace(rows, folds=np.where(rows.words == 1, 0, 2)).of(rows.words < 2))
    two = replace(rows, folds=np.arange(300) % 2)
    assert len(fit("vehicle", SHA, SPEC, two).folds) == FOLDS, "one fold has no samples yet"
