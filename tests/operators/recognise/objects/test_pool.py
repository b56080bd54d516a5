"""Looks are pooled as the rule says: by hand, and as properties of any looks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.recognise.objects.pool import MOST, MOST_WORDS, Look, Pool
from tests.operators.recognise.objects.looks import look

WORDS = tuple("abcdef")
LOOKS = st.lists(st.builds(look, st.sampled_from(WORDS), st.floats(0, 1), st.floats(0.001, 1)), min_size=1, max_size=12)


def pooled(looks: Sequence[Look], correlation: float = 0.6, words: int = len(WORDS)) -> Pool:
    pool = Pool(words, correlation)
    for each in looks:
        pool.add(each)
    return pool


def brute_force(looks: Sequence[Look], correlation: float) -> dict[str, float]:
    """The posterior of every word, from the definition."""
    count = sum(each.weight for each in looks) ** 2 / sum(each.weight**2 for each in looks)
    scale = count / (1 + correlation * (count - 1)) / sum(each.weight for each in looks)
    scores = {}
    for word in WORDS:
        scores[word] = 0.0
        for said, certainty, weight in looks:
            held = min(max(certainty, 1 / len(WORDS)), MOST)  # a look below chance says nothing
            scores[word] += weight * math.log(held if said.label == word else (1 - held) / (len(WORDS) - 1))
    total = sum(math.exp(scale * score) for score in scores.values())
    return {word: math.exp(scale * score) / total for word, score in scores.items()}


@given(LOOKS, st.floats(0, 1))
def test_the_posterior_is_that_of_the_definition(looks: list[Look], correlation: float) -> None:
    belief, expected = pooled(looks, correlation).belief(), brute_force(looks, correlation)
    assert belief.posterior == pytest.approx(max(expected.values()), abs=1e-6)
    assert expected[belief.said.label] == pytest.approx(max(expected.values()), abs=1e-6)


@given(LOOKS, st.randoms(use_true_random=False))
def test_the_order_of_looks_does_not_matter(looks: list[Look], random: object) -> None:
    shuffled = sorted(looks, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert pooled(shuffled).belief().posterior == pytest.approx(pooled(looks).belief().posterior)


@given(LOOKS)
def test_looks_never_count_for_more_than_the_ceiling(looks: list[Look]) -> None:
    pool = pooled(looks)
    assert 1 - 1e-9 <= pool.tempered <= 1 / 0.6 + 1e-9
    assert 1 / len(WORDS) - 1e-9 <= pool.belief().posterior < 1


@given(st.floats(0.2, 0.99))
def test_one_look_is_as_certain_as_it_says(certainty: float) -> None:
    assert pooled([look(certainty=certainty)]).belief().posterior == pytest.approx(certainty)


@given(LOOKS, st.sampled_from(WORDS))
def test_the_mean_confidence_is_of_the_looks_that_said_it(looks: list[Look], word: str) -> None:
    belief = pooled(looks).belief()
    same = [each for each in looks if each.said.label == belief.said.label]
    mean = sum(each.said.confidence * each.weight for each in same) / sum(each.weight for each in same)
    assert belief.score == pytest.approx(mean)
    assert belief.said is same[-1].said


def test_a_large_look_outvotes_small_ones() -> None:
    small = [look("bike", 0.6, 0.05)] * 3
    assert pooled([*small, look("car", 0.8, 1.0)]).belief().said.label == "car"


def test_looks_that_tell_less_than_they_say_leave_the_answer_less_certain() -> None:
    weak = Pool(len(WORDS), 0.6, 0.4)
    weak.add(look(certainty=0.9))
    assert weak.belief().posterior < 0.6


def test_who_looked_is_counted() -> None:
    assert pooled([look(), look(by="specialised"), look()]).looked == {"oracle": 2, "specialised": 1}


def test_words_are_bounded_and_the_weakest_goes() -> None:
    pool = pooled([look("car", 0.9), look("car", 0.9)], words=1000)
    for number in range(100):
        pool.add(look(f"word-{number}", 0.3))
        assert len(pool.known) <= MOST_WORDS
    assert pool.belief().said.label == "car"
    assert pool.looks == 102
