from __future__ import annotations

from collections import Counter
from math import inf
from random import Random

import pytest

from serving.remote.place_choice import APART_S, EVERY, FIRST_TRIES, TRIED_S, PlaceChoice


class Places:
    """Two places that take so long for a picture, and a clock."""

    def __init__(self, quick_s: float = inf, **times_s: float) -> None:
        self.times_s, self.now_s, self.away = times_s, 0.0, set[str]()
        self.prices = dict.fromkeys(times_s, 0.0)
        self.choice = PlaceChoice(list(times_s), Random(1), quick_s)

    def ask(self, count: int, items: int = 1, apart_s: float = 0.1) -> Counter[str]:
        """Make so many requests; returns where."""
        asked = Counter[str]()
        for _ in range(count):
            self.now_s += apart_s
            name = self.choice.choose(self.now_s, lambda name: name not in self.away, self.prices.__getitem__)
            asked[name] += 1
            self.choice.took(name, items, self.times_s[name] * items)
        return asked


def test_each_place_is_known_first_then_the_faster_one_is_taken() -> None:
    places = Places(here=0.10, there=0.01)
    assert places.ask(2 * FIRST_TRIES) == {"here": FIRST_TRIES, "there": FIRST_TRIES}
    places.ask(int(APART_S / 0.1))
    asked = places.ask(200)
    assert asked["there"] > 190
    assert asked["here"] >= 1


def test_a_place_that_is_a_little_faster_is_not_worth_the_change() -> None:
    places = Places(here=0.100, there=0.095)
    places.ask(100)
    assert places.ask(EVERY)["here"] >= EVERY - 1


def test_what_changes_is_noticed() -> None:
    places = Places(here=0.10, there=0.01)
    places.ask(200)
    places.times_s["there"] = 1.0
    places.ask(50)
    assert places.ask(100)["here"] > 90
    places.times_s["there"] = 0.01
    places.ask(int(TRIED_S * 10) * EVERY // 8)
    assert places.ask(100)["there"] > 90


def test_a_place_that_fails_is_left_alone_for_longer_each_time() -> None:
    places = Places(here=0.10, there=0.01)
    places.ask(200)
    gaps, last_s = [], None
    for _ in range(4000):
        places.now_s += 0.1
        name = places.choice.choose(places.now_s, lambda _: True)
        if name == "there":
            gaps += [] if last_s is None else [places.now_s - last_s]
            last_s = places.now_s
            places.choice.failed(name, places.now_s)
        else:
            places.choice.took(name, 1, 0.1)
    assert 0 < len(gaps) < 40
    assert gaps[-1] > 5 * gaps[0]


def test_a_place_that_may_not_answer_is_not_asked() -> None:
    places = Places(here=0.10, there=0.01)
    places.away = {"there"}
    assert places.ask(50) == {"here": 50}
    places.away = {"here", "there"}
    assert places.ask(5) == {"here": 5}


def test_large_batches_do_not_speak_for_single_pictures() -> None:
    places = Places(here=0.10, there=0.01)
    places.ask(20, items=16)
    places.ask(60, items=1)
    assert places.ask(60, items=1)["there"] > 55


def test_where_this_machine_is_quick_enough_nothing_is_paid_not_even_to_try() -> None:
    places = Places(quick_s=0.25, here=0.10, there=0.01)
    places.prices["there"] = 0.0001
    assert places.ask(100 + 10 * EVERY) == {"here": 100 + 10 * EVERY}


def test_where_this_machine_is_too_slow_the_faster_place_is_paid() -> None:
    places = Places(quick_s=0.05, here=0.10, there=0.01)
    places.prices["there"] = 0.0001
    places.ask(100)
    assert places.ask(200)["there"] > 190
    places.times_s["here"] = 0.02
    places.ask(2 * EVERY)
    assert places.ask(100) == {"here": 100}, "it has become quick enough"


def test_a_place_beside_the_limit_does_not_come_and_go() -> None:
    places = Places(quick_s=0.10, here=0.11, there=0.01)
    places.prices["there"] = 0.0001
    places.ask(100)
    places.times_s["here"] = 0.09
    assert places.ask(10 * EVERY)["there"] > 9 * EVERY


@pytest.mark.parametrize("dearer", [0.0, 0.1])
def test_of_places_with_about_the_same_price_the_faster_one_is_taken(dearer: float) -> None:
    places = Places(here=0.10, there=0.01)
    places.prices |= {"here": 0.001, "there": 0.001 * (1 + dearer)}
    places.ask(100)
    assert places.ask(200)["there"] > 190


def test_a_place_that_is_not_paid_for_is_asked_only_where_no_place_is() -> None:
    places = Places(here=0.10, there=0.01)
    places.ask(100)
    places.prices["there"] = inf
    assert places.ask(200) == {"here": 200}
    places.prices["here"] = inf
    places.ask(60)
    assert places.ask(100)["there"] > 90
