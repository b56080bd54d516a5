"""The figures of specialization in a plan."""

from __future__ import annotations

import msgspec
import pytest

from operators.recognise.exits.account import Seconds
from operators.recognise.exits.figures import specialization
from operators.wire.schema import ProcessorSeconds, Specialization
from specialization.tally import SpecializationTally
from specialization.weg.state import Head, HeadTarget, WegState

FRIENDS = {"special": 0.88, "cascade": 0.075, "speedup": 4.8}
HUNTING = {"special": 0.959, "cascade": 0.034, "speedup": 11.2}
OCEANS = {"special": 0.801, "cascade": 0.18, "speedup": 2.6}
ACCOUNT = Seconds(oracle=4.0, shortcuts=0.8, avoided=6.0)
WORDS = ("bus", "car", "van")
IN_USE = WegState(epoch=2, head=Head(1, HeadTarget("exits", (0, 2), 0.9, 0.1), 0.6))


def test_exits_in_use_are_told_of_with_their_classes() -> None:
    tally = SpecializationTally()
    tally.counted(oracle=30)
    tally.entered("specialised", ["bus", "van"], window=30)
    tally.counted(head=60, fallback=10, reused=7, audits=1)
    found = specialization(tally, IN_USE, WORDS, ACCOUNT)
    assert found == Specialization(
        phase="specialised",
        epoch=2,
        template="exits",
        classes=["bus", "van"],
        oracle=30,
        head=60,
        fallback=10,
        reused=7,
        audits=1,
        special_rate=0.7,
        cascade_rate=0.1429,
        transitions=1,
        mean_dominant=2.0,
        mean_window=30.0,
        saving=0.52,
        speedup=2.0833,
        processor_s=ProcessorSeconds(oracle=4.0, shortcuts=0.8, avoided=6.0, spent=0.0, saved=5.2),
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=Specialization) == found


def test_before_the_first_exits_there_is_little_to_tell() -> None:
    found = specialization(SpecializationTally(), WegState(), WORDS, Seconds())
    assert (found.phase, found.template, found.classes) == ("initialising", None, [])
    assert (found.special_rate, found.cascade_rate, found.saving) == (0.0, None, None)


def test_where_nothing_pays_it_is_said_why_and_the_saving_is_below_zero() -> None:
    account = Seconds(oracle=10.0, shortcuts=0.1)
    found = specialization(SpecializationTally(), WegState(), WORDS, account, "exits would save too little")
    assert (found.reason, found.saving, found.speedup) == ("exits would save too little", -0.01, 0.9901)


@pytest.mark.parametrize("row", [FRIENDS, HUNTING, OCEANS])
def test_table_5_3_follows_from_it(row: dict[str, float]) -> None:
    """Faces on a CPU: 40.4 ms of F2 against 2 576 ms (Shen, 2019, table 5.1)."""
    seconds, under_exits = Seconds(), round(1e5 * row["special"])
    by_exits = round(under_exits * (1 - row["cascade"]))
    seconds.answered(100_000 - by_exits, by_exits, oracle_s=2.576, shortcuts_s=under_exits * 0.0404)
    found = specialization(SpecializationTally(), IN_USE, WORDS, seconds)
    assert found.speedup == pytest.approx(row["speedup"], rel=0.1)
