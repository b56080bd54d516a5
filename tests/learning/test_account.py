"""The account of a stream and node."""

from __future__ import annotations

import msgspec
import pytest

from learning.account import Seconds


def test_a_new_account_is_empty() -> None:
    assert (Seconds().saved, Seconds().alone) == (0.0, 0.0)


def test_answers_are_set_against_the_oracle_alone() -> None:
    account = Seconds()
    account.answered(by_oracle=10, by_shortcuts=30, oracle_s=0.01, shortcuts_s=0.06)
    assert account.alone == pytest.approx(0.4)
    assert account.saved == pytest.approx(0.3 - 0.06)


def test_an_account_survives_a_restart() -> None:
    account = Seconds(oracle=1.5, avoided=2.5, shortcuts=0.25)
    assert msgspec.json.decode(msgspec.json.encode(account), type=Seconds) == account
