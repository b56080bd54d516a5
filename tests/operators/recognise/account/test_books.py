"""Ledgers of streams, and the purse that they have in common."""

from __future__ import annotations

import pytest

from learning.account import Seconds
from learning.purse import Purse
from operators.audits.unit_costs import HANDLING_S, UnitCosts
from operators.recognise.account import books as module
from operators.recognise.account.books import Books
from operators.testing import FakeEngine, card_of


def test_what_a_look_costs_is_remembered_when_the_network_has_left_memory() -> None:
    engine = FakeEngine(oracle=(card_of("oracle"), lambda batch: [batch]))
    costs = UnitCosts(engine)
    books = Books("oracle", costs)
    assert (costs.network_s("oracle"), costs.look_s("oracle"), books.oracle_s) == (None, None, 0.0)
    engine.costs_s["oracle"] = 0.01
    assert costs.network_s("oracle") == 0.01
    assert books.oracle_s == pytest.approx(0.01 + HANDLING_S)
    engine.costs_s.clear()
    assert costs.network_s("oracle") == 0.01


def test_all_streams_pay_from_one_purse() -> None:
    books = Books("oracle", purse=Purse(lambda: 100.0, share=0.01))
    books.of("a").spend("samples", 0.6)
    assert books.purse.left_s == pytest.approx(0.4)
    assert books.purse.reserve(0.3)
    books.of("b").pay("training", 0.3, 0.2)
    assert books.purse.left_s == pytest.approx(0.2)
    assert (books.of("a").seconds.spent, books.of("b").seconds.spent) == (0.6, 0.2)


def test_net_savings_refill_the_purse() -> None:
    books = Books("oracle", purse=Purse(lambda: 0.0))
    books.of("a").answered(by_oracle=5, by_shortcuts=10, oracle_s=0.2, shortcuts_s=0.5)
    assert books.purse.saved_s == pytest.approx(1.5)
    assert books.of("a").seconds == Seconds(oracle=1.0, shortcuts=0.5, avoided=2.0)


def test_an_account_that_moves_to_another_worker_goes_on_without_filling_its_purse() -> None:
    books = Books("oracle", purse=Purse(lambda: 0.0))
    books.restore("a", Seconds(avoided=9.0))
    books.of("a").spend("audits", 1.0)
    assert books.of("a").seconds.saved == 8.0
    assert books.purse.left_s == -1.0


def test_the_streams_that_were_asked_for_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_STREAMS", 2)
    books = Books("oracle")
    for stream in ("a", "b", "a", "c"):
        books.of(stream).spend("samples", 1.0)
    assert [books.of(stream).seconds.samples for stream in ("a", "c", "b")] == [2.0, 1.0, 0.0]
