from __future__ import annotations

import msgspec
import pytest

from operators.recognise.audits import second_thoughts
from operators.recognise.audits.second_thoughts import SecondThoughts
from tests.operators.recognise.audits.test_trial import answer, look


def test_a_second_sure_conclusion_is_compared_with_the_first_once() -> None:
    thoughts = SecondThoughts(4)
    thoughts.concluded(answer("bus"))
    assert thoughts.looked(7, look("bus")) is True
    assert not thoughts.awaits(7)
    thoughts.concluded(answer("bus"))
    assert thoughts.looked(7, look("van")) is False


def test_looks_are_pooled_until_they_are_sure() -> None:
    thoughts = SecondThoughts(4)
    thoughts.concluded(answer("bus"))
    assert thoughts.looked(7, look("van", 0.6)) is None
    assert thoughts.awaits(7)
    assert thoughts.looked(7, look("bus", 0.97)) is None
    assert thoughts.looked(7, look("bus", 0.97)) is True


def test_what_never_becomes_sure_is_given_up() -> None:
    thoughts = SecondThoughts(4)
    thoughts.concluded(answer("bus"))
    assert [thoughts.looked(7, look(word, 0.5)) for word in ("bus", "van", "bus")] == [None] * 3
    assert not thoughts.awaits(7)


def test_only_conclusions_of_the_oracle_alone_that_were_sure_count() -> None:
    thoughts = SecondThoughts(4)
    thoughts.concluded(answer(sure=False))
    thoughts.concluded(answer(looked={"oracle": 1, "variant": 1}))
    assert not thoughts.awaits(7)
    thoughts.concluded(answer())
    by_another = look()._replace(said=msgspec.structs.replace(look().said, provenance="variant"))
    assert thoughts.looked(7, by_another) is None
    assert not thoughts.awaits(7)


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_thoughts, "REMEMBERED", 2)
    thoughts = SecondThoughts(4)
    for track in (1, 2, 3):
        thoughts.concluded(answer().__class__(track, "bus", 0.9, 1, True, {"oracle": 1}))
    assert [thoughts.awaits(track) for track in (1, 2, 3)] == [False, True, True]
