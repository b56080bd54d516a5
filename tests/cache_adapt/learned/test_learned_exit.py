"""A learned exit answers what it is sure of, with words that it may say, and its numbers say the same word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.cache_adapt.learned.taught import LABELS, WORDS, exits, samples

EXIT = exits().exits[1]
TAP = samples(400, seed=1).taps[1]


def test_it_is_sure_of_what_lies_below_its_threshold():
    said = EXIT.words(TAP)
    for threshold in (0.0, 0.1, 0.4, 1.0):
        found = EXIT.at(threshold).look(TAP)
        assert found.hit.tolist() == (said.errors < threshold).tolist()
        assert WORDS.of(found.distribution[found.hit]).tolist() == said.words[found.hit].tolist()
        assert not found.distribution[~found.hit].any()


def test_it_answers_only_with_the_words_that_it_may_say():
    may = np.zeros(LABELS + 1, np.bool_)
    may[[0, WORDS.unknown]] = True
    said, found = EXIT.words(TAP).words, EXIT.at(1.0, may).look(TAP)
    assert found.hit.tolist() == may[said].tolist()
    assert 0 < found.hit.sum() < len(TAP)
    assert EXIT.at(1.0, may).at(1.0).look(TAP).hit.all()


@given(arrays(np.float32, (4, 24), elements=st.floats(width=32)))
def test_whatever_it_reads_an_answer_says_its_word(features):
    exit_ = EXIT.at(1.0)
    found = exit_.look(features)
    said = exit_.words(features)
    assert WORDS.of(found.distribution[found.hit]).tolist() == said.words[found.hit].tolist()
    assert np.isfinite(found.distribution).all()


def test_a_name_may_be_less_sure_than_an_answer_that_loses_one():
    exit_ = replace(EXIT, seen=(0, 1, WORDS.unknown))
    predicted = np.array([[0.2, 0, 0.8], [0.8, 0, 0.2], [0.8, 0.2, 0], [1, 0, 0], [0, 0, 1]], np.float32)
    no_name, perhaps_none, perhaps_another, *sure = exit_.errors(predicted).tolist()
    assert perhaps_none == pytest.approx(0.5 * no_name)
    assert perhaps_another == no_name == pytest.approx(0.2)
    assert sure == [0, 0]


def test_where_all_is_named_the_error_is_that_of_the_word():
    exit_ = replace(EXIT, seen=(0, 1))
    assert exit_.errors(np.array([[0.7, 0.3], [0.4, 0.6]], np.float32)).tolist() == pytest.approx([0.3, 0.4])


def test_what_is_no_number_is_never_sure():
    broken = TAP[:3].copy()
    broken[1, 4] = np.nan
    assert EXIT.at(1.1).look(broken).hit.tolist() == [True, False, True]


def test_the_score_of_its_probabilities_is_the_quadratic_one():
    predicted, words = EXIT.probabilities(TAP), samples(400, seed=1).words
    truth = (np.asarray(EXIT.seen) == words[:, None]).astype(np.float32)
    missed = 1 - truth.sum(axis=1)
    quadratic = np.square(predicted - truth).sum(axis=1) + missed
    assert np.allclose(EXIT.score(TAP, words), 1 - quadratic / 2, atol=1e-5)
    wrong = np.full(len(TAP), WORDS.unknown)
    assert EXIT.score(TAP, words).mean() > EXIT.score(TAP, wrong).mean()
