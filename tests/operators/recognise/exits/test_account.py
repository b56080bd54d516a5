"""Exits are left when they have cost more than they saved, and are asked for again after a while."""

from __future__ import annotations

import msgspec
import pytest

from operators.recognise.exits.account import FIRST_GAP, PATIENCE, ExitAccount, Seconds

WHOLE_S, CUT_S, SAVED_S = 0.01, 0.0103, 0.004
"""A look of the whole network, one that runs through the cut one to its end, and one of which all leave early."""


def looked(account: ExitAccount, answered: int, ended: int, look_s: float) -> bool:
    """Looks through the cut network, of so many seconds each."""
    return account.looked(answered, ended, WHOLE_S, (answered + ended) * look_s - ended * WHOLE_S)


def test_looks_that_leave_early_are_gained_and_lookups_are_lost() -> None:
    account = ExitAccount()
    assert not looked(account, 6, 4, 0.6 * SAVED_S + 0.4 * CUT_S)
    seconds = account.seconds
    assert (account.looks, account.lost_s) == (10, 0.0)
    assert seconds.avoided == pytest.approx(6 * WHOLE_S)
    assert seconds.oracle == pytest.approx(4 * WHOLE_S)
    assert seconds.saved == pytest.approx(10 * WHOLE_S - 6 * SAVED_S - 4 * CUT_S)


def test_exits_that_answer_nothing_are_left_by_the_time_that_they_have_cost_thirty_looks() -> None:
    account, looks = ExitAccount(), 0
    while not looked(account, 0, 1, CUT_S):
        looks += 1
    assert looks == pytest.approx(PATIENCE * WHOLE_S / (CUT_S - WHOLE_S), abs=2)
    assert account.seconds.saved == pytest.approx(-PATIENCE * WHOLE_S, rel=0.01)


def test_a_good_past_does_not_hide_a_bad_present() -> None:
    account = ExitAccount()
    for _ in range(1000):
        assert not looked(account, 1, 0, SAVED_S)
    assert account.lost_s == 0.0
    assert any(looked(account, 0, 1, CUT_S) for _ in range(1100))


def test_as_long_as_it_is_not_known_what_a_look_costs_nothing_is_left() -> None:
    account = ExitAccount()
    assert not any(account.looked(0, 1, 0.0, 0.0) for _ in range(2000))
    assert account.looks == 2000


def test_looks_of_the_whole_network_cost_and_spare_nothing() -> None:
    account = ExitAccount()
    account.by_oracle(5, WHOLE_S)
    assert (account.looks, account.seconds.saved) == (5, 0.0)
    assert account.seconds.oracle == pytest.approx(5 * WHOLE_S)


def test_exits_that_brought_nothing_are_asked_for_again_after_twice_as_many_looks_each_time() -> None:
    account = ExitAccount()
    for attempt in range(3):
        assert account.may_try
        account.left(gained=False)
        account.by_oracle((FIRST_GAP << attempt) - 1, WHOLE_S)
        assert not account.may_try
        account.by_oracle(1, WHOLE_S)
    assert account.may_try


def test_exits_that_have_gained_may_be_asked_for_again_at_once() -> None:
    account = ExitAccount()
    account.left(gained=False)
    account.left(gained=True)
    assert account.may_try


def test_what_they_have_lost_is_not_held_against_the_next_ones() -> None:
    account = ExitAccount()
    while not looked(account, 0, 1, CUT_S):
        pass
    account.left(gained=False)
    assert not looked(account, 0, 1, CUT_S)


def test_it_survives_a_restart() -> None:
    account = ExitAccount()
    looked(account, 3, 2, CUT_S)
    account.left(gained=False)
    assert msgspec.json.decode(msgspec.json.encode(account), type=ExitAccount) == account


def test_a_new_account_is_empty() -> None:
    assert (Seconds().saved, Seconds().alone) == (0.0, 0.0)


def test_answers_are_set_against_the_oracle_alone() -> None:
    account = Seconds()
    account.answered(by_oracle=10, by_shortcuts=30, oracle_s=0.01, shortcuts_s=0.06)
    assert account.alone == pytest.approx(0.4)
    assert account.saved == pytest.approx(0.3 - 0.06)


def test_seconds_survive_a_restart() -> None:
    account = Seconds(oracle=1.5, avoided=2.5, shortcuts=0.25)
    assert msgspec.json.decode(msgspec.json.encode(account), type=Seconds) == account
