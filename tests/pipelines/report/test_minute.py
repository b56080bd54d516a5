from __future__ import annotations

from collections import Counter
from typing import Any

from pipelines.report.minute import MINUTE_S, REPEAT_S, MinuteLine, Totals


def totals(analysed: int, dropped: int = 0, failed: int = 0, **more: Any) -> Totals:
    drops = Counter(more.pop("drops", {}))
    return Totals(Counter(analysed=analysed, dropped=dropped, failed=failed), drops, **more)


def lines(*minutes: Totals) -> list[str | None]:
    """What is said when minutes pass in which this was added."""
    report, sums, said = MinuteLine(0.0), Totals(), []
    for number, minute in enumerate(minutes, 1):
        letters = sums.letters + minute.letters
        sums = Totals(sums.outcomes + minute.outcomes, sums.drops + minute.drops, letters, minute.behind, minute.lag_s)
        assert report.line(number * MINUTE_S - 1, sums) is None
        said.append(report.line(number * MINUTE_S, sums))
    return said


WELL = totals(1500)
OVERLOADED = totals(940, 560, drops={"late": 540, "queue_full": 20})
BEHIND = totals(1500, behind=900, lag_s=36)


def test_a_worker_that_is_well_says_nothing() -> None:
    assert lines(*[WELL] * 100) == [None] * 100


def test_drops_are_said_when_they_begin_and_when_they_end() -> None:
    first, *between, last = lines(OVERLOADED, OVERLOADED, OVERLOADED, WELL)
    assert first == "last minute: 940 frames analysed, 560 dropped (37%: late 540, queue_full 20), none behind"
    assert between == [None, None]
    assert last == "last minute: 1500 frames analysed, 0 dropped, none behind"


def test_another_share_is_said_again() -> None:
    assert lines(OVERLOADED, totals(1400, 100))[1] == "last minute: 1400 frames analysed, 100 dropped, none behind"


def test_a_lag_that_grows_is_said_again() -> None:
    said = lines(BEHIND, BEHIND, totals(1500, behind=2000, lag_s=80), totals(1500, behind=1900, lag_s=76))
    assert said[0] == "last minute: 1500 frames analysed, 0 dropped, 900 behind (36 s)"
    assert (said[1], said[3]) == (None, None)
    assert "2000 behind (80 s)" in str(said[2])


def test_what_goes_on_is_repeated_now_and_then() -> None:
    said = lines(*[OVERLOADED] * 25)
    assert [number for number, line in enumerate(said) if line] == [0, REPEAT_S / MINUTE_S, 2 * REPEAT_S / MINUTE_S]


def test_failures_and_letters_are_named() -> None:
    [said] = lines(totals(10, failed=2, letters=3))
    assert said == "last minute: 10 frames analysed, 0 dropped, 2 failed, 3 dead letters, none behind"
