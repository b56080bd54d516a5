"""Many pools at once are the pools of single objects, whoever answers the looks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.learned.pooled import PooledAnswers, PoolRule, SaidLooks, ShownLooks
from cache_adapt.learned.vocabulary import Vocabulary
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.pool import Pool
from operators.wire.bounds import share
from tests.operators.recognise.objects.looks import look

WORDS = Vocabulary(labels=4, least_confidence=0.7, nameless=(3,))
RULE = PoolRule(words=4, correlation=LOOK_RULE.correlation, part=LOOK_RULE.border_strength)
LOOK = st.tuples(
    st.integers(0, 5), st.integers(0, 3), st.floats(0.05, 1), st.floats(0.001, 1, exclude_min=True), st.booleans()
)
"""The object, the label, its certainty, the weight, and whether the whole is seen."""


def shown(objects: list[int], weights: list[float], whole: list[bool]) -> ShownLooks:
    return ShownLooks([str(each) for each in objects], np.array(weights, np.float32), np.array(whole, np.bool_))


def answers(objects, shown: ShownLooks, labels, certainties, words: Vocabulary = WORDS, rule: PoolRule = RULE):
    """The answers of the end, where these are its looks."""
    said = SaidLooks(np.array([labels]), np.array([certainties], np.float32))
    return PooledAnswers.of_looks(np.array(objects), shown, said, words, rule).end.tolist()


def one_by_one(looks: list[tuple[int, int, float, float, bool]]) -> dict[int, set[int]]:
    """What may be said of objects, each by a pool of its own: the first look at the whole drops those at a part."""
    found = {}
    for number in {each[0] for each in looks}:
        mine = [each for each in looks if each[0] == number]
        whole = any(each[4] for each in mine)
        pool = Pool(RULE.words, RULE.correlation, 1.0 if whole else RULE.part)
        for _, label, certainty, weight, is_whole in mine:
            if is_whole or not whole:
                pool.add(look(str(label), round(certainty, 4), float(np.float32(weight))))
        most = max(word.support for word in pool.known.values())
        best = {int(label) for label, word in pool.known.items() if word.support > most - 1e-6}
        sure = share(pool.belief().posterior) >= WORDS.least_confidence
        found[number] = {each if sure and each != 3 else WORDS.unknown for each in best}
    return found


@given(st.lists(LOOK, min_size=1, max_size=40))
def test_they_give_what_a_pool_of_each_object_gives(looks):
    numbers = sorted({each[0] for each in looks})
    objects, labels, certainties, weights, whole = (list(each) for each in zip(*looks, strict=True))
    places = [numbers.index(each) for each in objects]
    found = answers(places, shown(objects, weights, whole), labels, np.round(certainties, 4))
    for number, answer in zip(numbers, found, strict=True):
        assert answer in one_by_one(looks)[number]


def test_the_label_with_the_most_support_is_said_and_one_look_against_it_leaves_doubt():
    looks = ShownLooks.of(["a"] * 3 + ["b"] * 2)
    assert answers([0, 0, 0, 1, 1], looks, [0, 0, 1, 2, 1], [0.95, 0.95, 0.6, 0.9, 0.9]) == [0, WORDS.unknown]


def test_a_name_that_is_only_just_said_is_not_published_of_a_part():
    looks = ShownLooks(["whole", "part"], np.ones(2, np.float32), np.array([True, False]))
    assert answers([0, 1], looks, [0, 0], [0.7, 0.7]) == [0, WORDS.unknown]
    assert answers([0, 1], looks, [0, 0], [0.9, 0.9]) == [0, 0]


def test_where_looks_name_by_themselves_the_pool_says_the_label_with_the_most_support():
    rule = PoolRule(words=3, correlation=0.6, part=0.7, by_look=True)
    words = Vocabulary(labels=2, least_confidence=0.5)
    said = SaidLooks.of(np.array([[0.9, 0.0], [0.2, 0.0], [0.3, 0.0]], np.float32), words, by_look=True)
    assert said.labels.tolist() == [0, words.unknown, words.unknown]
    assert said.certainties.tolist() == pytest.approx([0.9, 0.8, 0.7])
    assert answers([0, 0, 1], ShownLooks.of(["a", "a", "b"]), *said, words, rule) == [0, words.unknown]


def test_looks_are_those_of_the_exits_where_these_answer_and_of_the_end_elsewhere():
    said = SaidLooks(np.array([[1, 1, 1], [0, 0, 2]]), np.full((2, 3), 0.95, np.float32))
    found = PooledAnswers.of_looks(np.array([0, 0, 1]), ShownLooks.of(["a", "a", "b"]), said, WORDS, RULE)
    assert found.count == 2
    assert found.end.tolist() == [0, 2]
    assert found.of(np.array([1, 1, 1])).tolist() == [0, 2]
    assert found.of(np.array([0, 0, 1])).tolist() == [1, 2]
    assert found.of(np.array([1, 1, 0])).tolist() == [0, 1]
    assert found.at([]).of(np.array([0, 0, 0])).tolist() == found.at([]).end.tolist() == [0, 2]
