"""What heads have brought, and whether to try again."""

from __future__ import annotations

import msgspec
import pytest

from operators.recognise.specialised.earnings import FIRST_GAP, PATIENCE, Earnings


def seen(earnings: Earnings, objects: int, named: bool = True) -> None:
    for _ in range(objects):
        earnings.saw(named)


def test_a_stream_on_which_nothing_brought_anything_backs_off_doubling() -> None:
    earnings, attempts = Earnings(), list[int]()
    for _ in range(FIRST_GAP * 16):
        if earnings.may_try:
            attempts.append(earnings.objects)
            earnings.failed()
        earnings.saw(named=True)
    assert attempts == [0, FIRST_GAP, 3 * FIRST_GAP, 7 * FIRST_GAP, 15 * FIRST_GAP]


def test_a_head_that_earned_its_training_may_be_followed_at_once() -> None:
    earnings = Earnings()
    earnings.failed()
    earnings.arrived(price_s=0.5)
    assert not earnings.looked(avoided_s=2.0, own_s=1.4, oracle_s=0.01)
    earnings.left()
    assert earnings.may_try


def test_a_head_that_did_not_earn_its_training_makes_the_next_one_wait() -> None:
    earnings = Earnings()
    earnings.arrived(price_s=0.5)
    earnings.looked(avoided_s=2.0, own_s=1.6, oracle_s=0.01)
    earnings.left()
    assert not earnings.may_try


def test_a_head_that_costs_more_than_it_saves_is_left_after_a_while() -> None:
    earnings, looks = Earnings(), 0
    while not earnings.looked(avoided_s=0.0, own_s=0.002, oracle_s=0.01):
        looks += 1
    assert looks == pytest.approx(PATIENCE * 5, abs=1)


def test_a_head_that_pays_is_never_left_for_a_bad_minute() -> None:
    earnings = Earnings()
    for minute in range(100):
        for _ in range(10):
            worth = 0.0 if minute % 10 == 9 else 0.01
            assert not earnings.looked(worth, 0.002, oracle_s=0.01)


def test_the_share_of_objects_with_a_name_follows_the_stream() -> None:
    earnings = Earnings()
    seen(earnings, 300)
    assert earnings.named == pytest.approx(1.0)
    seen(earnings, 300, named=False)
    assert earnings.named < 0.01


def test_earnings_survive_a_restart() -> None:
    earnings = Earnings()
    seen(earnings, 5)
    earnings.failed()
    assert msgspec.json.decode(msgspec.json.encode(earnings), type=Earnings) == earnings
