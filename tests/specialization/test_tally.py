"""The figures of specialization: exact, and the same after a restart."""

from __future__ import annotations

import msgspec

from specialization.tally import AnswerCounts, SpecializationTally


def told() -> SpecializationTally:
    tally = SpecializationTally()
    tally.entered("initialising")
    tally.counted(oracle=30)
    tally.entered("selecting", window=30)
    tally.counted(oracle=10)
    tally.entered("specialised", ["car", "bus"], window=40)
    tally.counted(head=40, fallback=10, audits=2)
    tally.entered("specialised", ["car", "bus", "van", "truck"], window=60)
    tally.counted(head=10, reused=5)
    tally.entered("initialising")
    tally.counted(oracle=5)
    return tally


def test_the_columns_of_table_5_4() -> None:
    found = told()
    assert found.total == AnswerCounts(oracle=45, head=50, fallback=10, reused=5, audits=2)
    assert (found.special_rate, found.cascade_rate) == (60 / 105, 10 / 60)
    assert (found.transitions, found.mean_dominant, found.mean_window) == (1, 3.0, 50.0)


def test_of_nothing_nothing_is_said() -> None:
    found = SpecializationTally()
    assert (found.special_rate, found.cascade_rate, found.mean_dominant) == (0.0, None, None)


def test_the_same_again_is_no_change() -> None:
    tally = told()
    for _ in range(3):
        tally.entered("specialised", ["car"], window=30)
    assert (tally.transitions, tally.heads, tally.windows) == (2, 3, 130)


def test_it_goes_on_from_its_state() -> None:
    tally = told()
    again = msgspec.json.decode(msgspec.json.encode(tally), type=SpecializationTally)
    for each in (tally, again):
        each.entered("specialised", ["car"], window=30)
        each.counted(head=3)
    assert again == tally
