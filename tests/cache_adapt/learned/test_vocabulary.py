"""Words of probabilities, and probabilities that say a word."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cache_adapt.learned.vocabulary import ABOVE, BELOW, Vocabulary

NUMBERS = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(
    labels=st.integers(2, 5),
    least=st.floats(0.01, 1),
    nameless=st.sets(st.integers(0, 4), max_size=2),
    data=st.data(),
)
def test_whatever_the_numbers_are_they_come_to_say_the_word(labels, least, nameless, data):
    words = Vocabulary(labels, least, tuple(sorted(each for each in nameless if each < labels)))
    shares = data.draw(arrays(np.float32, (3, labels), elements=NUMBERS))
    known = [each for each in range(labels + 1) if each not in words.nameless]
    wanted = np.array(data.draw(st.lists(st.sampled_from(known), min_size=3, max_size=3)))
    found = words.adjusted(shares, wanted)
    assert words.of(found).tolist() == wanted.tolist()
    assert ((found >= 0) & (found <= 1)).all()


@given(
    labels=st.integers(2, 5),
    least=st.floats(0, 1),
    nameless=st.sets(st.integers(0, 4), max_size=2),
    shares=arrays(np.float32, (3, 5), elements=st.floats(0, 1, width=32)),
)
def test_leanings_are_probabilities_whose_word_is_the_one_that_was_said(labels, least, nameless, shares):
    words = Vocabulary(labels, least, tuple(sorted(each for each in nameless if each < labels)))
    shares = shares[:, :labels]
    said = words.of(shares)
    found = words.leanings(shares, said)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    assert (found[np.arange(3), said] >= 0.5 - 1e-6).all()
    assert not found[:, list(words.nameless)].any()


def test_a_look_leans_to_a_name_by_how_nearly_it_was_given():
    words = Vocabulary(3, 0.7, nameless=(2,))
    shares = np.array([[0.95, 0.05, 0], [0.72, 0.28, 0], [0.66, 0.3, 0.04], [0.3, 0.3, 0.4]], np.float32)
    found = words.leanings(shares, words.of(shares))
    assert found[:, 0].tolist() == sorted(found[:, 0].tolist(), reverse=True)
    assert found[0, 0] > 0.95
    assert 0.3 < found[2, 0] < 0.5
    assert found[3, words.unknown] == 1, "what is nothing with a name leans to none"


def test_probabilities_that_say_the_word_as_surely_as_looks_do_stay_as_they_are():
    words = Vocabulary(3, 0.6)
    shares = np.array([[0.9, 0.06, 0.04], [0.5, 0.4, 0.1]], np.float32)
    np.testing.assert_allclose(words.adjusted(shares, words.of(shares)), shares, atol=1e-6)


@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1]])
def test_a_name_that_is_said_is_as_sure_as_such_looks_are_on_average(shares):
    (found,) = Vocabulary(3, 0.6).adjusted(np.array([shares], np.float32), np.array([1]))
    assert found[1] == pytest.approx(0.6 + ABOVE * 0.4)
    assert found[0] / found[2] == pytest.approx(shares[0] / shares[2])
    assert found.sum() == pytest.approx(1)


def test_a_name_that_is_said_is_above_all_others():
    (low,) = Vocabulary(3, 0.1).adjusted(np.array([[0.5, 0.3, 0.2]], np.float32), np.array([1]))
    assert low[1] > low[0] > low[2]


def test_unknown_keeps_the_order_of_the_names_below_the_least_confidence():
    words = Vocabulary(3, 0.6, nameless=(2,))
    likely, other = words.adjusted(np.array([[0.9, 0.06, 0.04], [0.1, 0.1, 0.8]], np.float32), np.array([3, 3]))
    assert likely[0] == pytest.approx(0.6 * BELOW)
    assert likely[1] == pytest.approx(0.06 / 0.9 * likely[0])
    np.testing.assert_allclose(other, [0.1, 0.1, 0.8])


def test_without_a_least_confidence_only_a_label_without_a_name_is_unknown():
    words = Vocabulary(3, 0.0, nameless=(2,))
    shares = np.array([[0.4, 0.3, 0.3]], np.float32)
    assert words.of(shares).tolist() == [0]
    assert words.of(words.adjusted(shares, np.array([3]))).tolist() == [3]


@pytest.mark.parametrize(
    "fields",
    [
        {"labels": 1},
        {"labels": 10**6},
        {"least_confidence": 1.5},
        {"nameless": [4]},
        {"nameless": [2, 1]},
        {"nameless": [-1]},
        {"more": 1},
    ],
    ids=str,
)
def test_words_of_no_recogniser_are_refused(fields):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"labels": 4, "least_confidence": 0.5} | fields, Vocabulary)
