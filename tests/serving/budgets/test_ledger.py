"""The file that keeps a day's spending."""

import fcntl
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest

from serving.budgets.day_budget import LEASES, DayBudget
from serving.budgets.frequency import KeptFrequency
from serving.budgets.ledger import MOST_HOLDERS, FileLedger
from serving.budgets.prices import Amount, Prices
from serving.budgets.terms import MOST_NAMED, BudgetTerms, DayRule, Settlement
from serving.common import files
from serving.errors import BadInput

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = datetime(2026, 6, 1, tzinfo=UTC)
TERMS = BudgetTerms("backend gpu", Amount(5.0, "EUR"), Prices("EUR", per_call=0.01), DayRule())


def budget(path: Path, now: datetime = NOON) -> DayBudget:
    return DayBudget(TERMS, FileLedger(path), lambda: now)


def spend(spender: DayBudget, cost: float, calls: int = 1) -> int:
    """Returns how many calls were paid."""
    made = 0
    for _ in range(calls):
        if spender.reserve("node", cost):
            spender.pay("node", "large on gpu", cost, cost)
            made += 1
    return made


def test_what_was_spent_survives_a_restart(tmp_path: Path) -> None:
    first = budget(tmp_path / "q.json")
    spend(first, 0.01, 100)
    first.close()
    second = budget(tmp_path / "q.json")
    assert second.left == pytest.approx(4.0)
    assert second.report().spent_today == {"large on gpu": pytest.approx(1.0)}
    assert second.report().spent == {}


def test_a_process_that_is_killed_loses_one_lease_at_most(tmp_path: Path) -> None:
    spend(budget(tmp_path / "q.json"), 0.01, 101)
    left = budget(tmp_path / "q.json").left
    assert 5.0 - 1.01 - 5.0 / LEASES - 1e-9 <= left <= 5.0 - 1.01 + 1e-9


def test_two_processes_share_a_day_and_never_exceed_it(tmp_path: Path) -> None:
    one, other = budget(tmp_path / "q.json"), budget(tmp_path / "q.json")
    made = 0
    for _ in range(400):
        made += spend(one, 0.01) + spend(other, 0.01)
    assert made <= 500
    one.close()
    made += spend(other, 0.01, 100)
    assert made == 500
    assert not other.reserve("node", 0.01)
    assert other.reserve("node", 0.0), "what costs nothing may always be done"


def test_a_new_day_begins_with_all_of_it(tmp_path: Path) -> None:
    spend(budget(tmp_path / "q.json"), 0.01, 500)
    later = budget(tmp_path / "q.json", NOON + timedelta(days=1))
    assert later.left == 5.0
    earlier = budget(tmp_path / "q.json", NOON - timedelta(days=3))
    assert earlier.report().spent_today == {}, "a clock that was set back does not bring the old day back"


def test_holders_do_not_touch_each_other(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "q.json")
    ledger.settle(Settlement("backend gpu", DAY, 3.0, 5.0, {"large": 3.0}, {}))
    assert ledger.settle(Settlement("node face", DAY, 1.0, 5.0, {}, {})) == (1.0, 1.0, {}, {})
    assert ledger.settle(Settlement("backend gpu", DAY, 3.0, 5.0, {}, {})) == (2.0, 5.0, {"large": 3.0}, {})


PER_S = 20
SHARE = 5.0 / 43_200 / PER_S
"""A request's, at noon."""


def asks(spender: DayBudget, node: str, begin_s: int, end_s: int) -> None:
    """Requests that cost nothing, by a clock that began with the process."""
    for tick in range(PER_S * begin_s, PER_S * end_s):
        spender.begins(node, tick / PER_S, 0.0)


def test_a_restart_knows_how_often_a_node_asks(tmp_path: Path) -> None:
    """Its first seconds would else be all that it knows, and each request would get many times its share."""
    first = budget(tmp_path / "q.json")
    asks(first, "type", 0, 600)
    first.close()
    second = budget(tmp_path / "q.json")
    assert second.may_cost("type", 5.0, 0.0) == pytest.approx(SHARE, rel=0.01)
    assert budget(tmp_path / "fresh.json").may_cost("type", 5.0, 0.0) > 10 * SHARE
    asks(second, "type", 5, 105)
    second.close()
    assert budget(tmp_path / "q.json").may_cost("type", 9e9, 0.0) == pytest.approx(SHARE, rel=0.02)


def test_how_often_nodes_ask_outlasts_the_day(tmp_path: Path) -> None:
    first = budget(tmp_path / "q.json")
    asks(first, "type", 0, 600)
    first.close()
    tomorrow = budget(tmp_path / "q.json", NOON + timedelta(days=1))
    assert tomorrow.may_cost("type", 0.0, 0.0) == pytest.approx(SHARE, rel=0.01)


def test_a_process_that_ends_on_the_next_day_gives_back_nothing_of_it(tmp_path: Path) -> None:
    clocks = [NOON, NOON]
    one, other = (DayBudget(TERMS, FileLedger(tmp_path / "q.json"), lambda at=at: clocks[at]) for at in (0, 1))
    spend(one, 0.01)
    clocks[1] = NOON + timedelta(days=1)
    spend(other, 0.01, calls=100)
    clocks[0] = clocks[1]
    one.close()
    other.close()
    today = budget(tmp_path / "q.json", clocks[1])
    assert today.left == pytest.approx(4.0)
    assert today.report().spent_today == {"large on gpu": pytest.approx(1.0)}


def test_a_day_without_a_time_zone_is_refused_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    file.write_text(
        '{"schema": "sluice.budgets/1", "budgets": {"backend gpu (EUR)": {"day": "2026-06-01T00:00:00", "taken": 5}}}'
    )
    with pytest.raises(BadInput, match="repair the file"):
        FileLedger(file)


def test_budgets_under_names_of_before_make_room(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "q.json")
    for each in range(MOST_HOLDERS + 50):
        day = DAY + timedelta(days=each)
        ledger.settle(Settlement(f"node n{each} (EUR)", day, 1.0, 5.0, {"m": 1.0}, {}))
    again = FileLedger(tmp_path / "q.json")
    assert again.settle(Settlement(f"node n{MOST_HOLDERS + 49} (EUR)", day, 0.0, 5.0, {}, {})).taken == 1.0
    assert len(again._known.budgets) == MOST_HOLDERS


def test_nodes_are_bounded(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "q.json")
    for each in range(MOST_HOLDERS + 50):
        found = ledger.settle(Settlement("backend gpu", DAY, 0.0, 5.0, {}, {f"n{each}": KeptFrequency(1.0, 1.0)}))
    assert len(found.asked) == MOST_HOLDERS
    FileLedger(tmp_path / "q.json")


def test_names_are_bounded(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "q.json")
    for each in range(MOST_NAMED + 50):
        found = ledger.settle(Settlement("node face", DAY, 0.0, 5.0, {f"m{each}": 1.0}, {}))
    assert len(found.spent) == MOST_NAMED + 1
    assert sum(found.spent.values()) == MOST_NAMED + 50
    FileLedger(tmp_path / "q.json")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b'{"schema": "sluice.budgets/2", "budgets": {}}',
        b'{"schema": "sluice.budgets/1", "budgets": {"gpu": {"day": "2026-06-01T00:00:00Z", "taken": -1}}}',
        b'{"schema": "sluice.budgets/1", "budgets": {"gpu": {"day": "x"}}}',
        b'{"schema": "sluice.budgets/1", "budgets": {"gpu": {"day": "2026-06-01T00:00:00Z", "asked": {"n": [1, -1]}}}}',
        b'{"schema": "sluice.budgets/1", "budgets": {}, "more": 1}',
        b" " * (1 << 21),
    ],
)
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "q.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"repair the file, or remove it"):
        FileLedger(path)
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_used_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be used"):
        FileLedger(tmp_path / "file" / "q.json")


def test_a_file_that_is_damaged_while_it_runs_is_told_once_and_the_bound_holds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = budget(tmp_path / "q.json")
    spend(running, 0.01, 100)
    (tmp_path / "q.json").write_bytes(b"{")
    assert spend(running, 0.01, 1000) == 400
    assert [each.levelname for each in caplog.records] == ["WARNING"]


def test_what_a_full_disk_does_not_take_counts_once_and_is_kept_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise BadInput(f"{path}: cannot be written (No space left on device)")

    running = budget(tmp_path / "q.json")
    spend(running, 0.01, 100)
    with monkeypatch.context() as patched:
        patched.setattr(files, "write", full)
        assert spend(running, 0.01, 1000) == 400
        assert running.report().spent_today == {"large on gpu": pytest.approx(5.0)}
        assert len(caplog.records) == 1
    running.close()
    assert budget(tmp_path / "q.json").report().spent_today == {"large on gpu": pytest.approx(5.0)}


def _spend_for_ever(path: str) -> None:
    running = budget(Path(path))
    spend(running, 0.01, 50)
    print("spent", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="locks of Linux")
def test_processes_that_are_killed_leave_a_file_that_the_next_can_use(tmp_path: Path) -> None:
    for _ in range(3):
        child = get_context("spawn").Process(target=_spend_for_ever, args=(str(tmp_path / "q.json"),))
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
    left = budget(tmp_path / "q.json").left
    assert 5.0 - 1.5 - 3 * 5.0 / LEASES - 1e-9 <= left <= 5.0 - 1.5 + 1e-9


def test_a_process_that_stands_still_with_the_file_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("serving.budgets.ledger.LOCK_PAUSE_S", 0.001)
    known = budget(tmp_path / "q.json")
    with (tmp_path / "q.lock").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        spend(known, 0.01, 101)
        with pytest.raises(BadInput, match="cannot be used"):
            budget(tmp_path / "q.json")
    assert sum("not kept" in each for each in caplog.messages) == 1
