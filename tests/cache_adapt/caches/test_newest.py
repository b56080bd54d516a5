"""The newest looks: which are kept, and what caches say of them."""

from __future__ import annotations

import numpy as np

from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.newest import KEPT, NewestLooks, heard
from cache_adapt.caches.predictor import Predictor


class Counting:
    """A predictor of two classes from one number; notes how many rows it was asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        self.asked += len(features)
        return np.stack([features[:, 0], 1 - features[:, 0]], axis=1).astype(np.float32)


def caches(*predictors: Counting | Predictor) -> list[LearnedCache]:
    return [LearnedCache(f"cut{n}", each, None, 0.1) for n, each in enumerate(predictors)]  # type: ignore[arg-type]


def words(shares: np.ndarray) -> np.ndarray:
    return shares.argmax(axis=1)


def looks(*first: float) -> np.ndarray:
    return np.array(first, np.float32)[:, None]


def test_each_cache_is_heard_about_what_it_reads() -> None:
    newest = NewestLooks(caches(Counting(), Counting()), words)
    newest.add([looks(0.9, 0.6), looks(0.2, 1.0)], np.array([0, 1]))
    newest.add([looks(0.3), looks(0.1)], np.array([1]))
    found = heard(newest.now)
    np.testing.assert_allclose(found.errors, [[0.1, 0.4, 0.3], [0.2, 0.0, 0.1]], atol=1e-6)
    assert found.right.tolist() == [[True, False, True], [False, False, True]]


def test_a_cache_is_asked_about_a_look_once_and_only_where_somebody_wants_to_know() -> None:
    predictor = Counting()
    newest = NewestLooks(caches(predictor), words)
    newest.add([looks(0.9, 0.6)], np.array([0, 1]))
    assert predictor.asked == 0
    heard(newest.now)
    newest.add([looks(0.5)], np.array([0]))
    heard(newest.now)
    assert predictor.asked == 3


def test_old_looks_go_by_batches_and_enough_stay() -> None:
    newest = NewestLooks(caches(Counting()), words, kept=4)
    for number in range(6):
        newest.add([looks(number, number, number)], np.array([0, 0, 0]))
    assert [len(each.answers) for each in newest.now] == [3, 3]
    assert newest.now[0].taps[0][0, 0] == 4
    newest.add([looks(*[7.0] * 9)], np.zeros(9, int))
    assert [len(each.answers) for each in newest.now] == [9]


def test_so_many_are_kept_as_the_paper_tunes_on() -> None:
    assert KEPT == 512
    newest = NewestLooks(caches(Counting()), words)
    for _ in range(KEPT + 10):
        newest.add([looks(0.5)], np.array([0]))
    assert sum(len(each.answers) for each in newest.now) == KEPT


def test_what_is_read_now_stays_though_more_comes() -> None:
    newest = NewestLooks(caches(Counting()), words, kept=1)
    newest.add([looks(0.9)], np.array([0]))
    now = newest.now
    newest.add([looks(0.1)], np.array([0]))
    assert heard(now).errors[0, 0] == np.float32(1 - np.float32(0.9))
