from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.scheduling.duty_cycle import SessionLoad, most_urgent, next_turn
from serving.scheduling.estimates import LatencyTable
from tests.serving.scheduling.queues import ONE_S_EACH, Ask, queues

# Shen, 2019, Table 3.2.
A = LatencyTable({4: 0.050, 8: 0.075, 16: 0.100})
B = LatencyTable({4: 0.050, 8: 0.090, 16: 0.125})
C = LatencyTable({4: 0.060, 8: 0.095, 16: 0.125})


def load(name: str, waiting: int = 0, due: float = math.inf, background: int = 0, urgent_items: int = 1) -> SessionLoad:
    return SessionLoad(name, ONE_S_EACH, 8, waiting, due, urgent_items if waiting else 0, background)


def turn_of(
    *loads: SessionLoad, last: str | None = None, now: float = 0.0, gap_s: float = 3.0
) -> tuple[str, int, bool] | None:
    turn = next_turn(loads, last, now, gap_s)
    return None if turn is None else (turn.name, turn.places, turn.background)


def test_nothing_to_do() -> None:
    assert turn_of() is None
    assert turn_of(load("a"), load("b")) is None


def test_turns_go_round_and_skip_the_idle() -> None:
    loads = [load("a", 1), load("b"), load("c", 1)]
    assert turn_of(*loads) == ("a", 8, False)
    assert turn_of(*loads, last="a") == ("c", 8, False)
    assert turn_of(*loads, last="c") == ("a", 8, False)
    assert turn_of(*loads, last="b") == ("c", 8, False)
    assert turn_of(*loads, last="gone") == ("a", 8, False)


def test_a_turn_leaves_the_others_the_time_they_need_one_after_the_other() -> None:
    # b needs 2 s and c then 2 s more: by 7 there are 5 s for a, by 8 there are 4.
    assert turn_of(load("a", 9), load("b", 1, due=7.0)) == ("a", 4, False)
    assert turn_of(load("a", 9), load("b", 1, due=7.0), load("c", 1, due=8.0)) == ("a", 3, False)
    assert turn_of(load("a", 9), load("b", 1), load("c", 1, due=8.0, urgent_items=2)) == ("a", 2, False)


def test_who_cannot_be_in_time_anyway_limits_nobody() -> None:
    assert turn_of(load("a", 9), load("b", 1, due=3.0)) == ("a", 8, False)


def test_a_turn_has_room_for_its_own_most_urgent_request() -> None:
    assert turn_of(load("a", 9, urgent_items=4), load("b", 1, due=7.0)) == ("a", 4, False)
    assert turn_of(load("a", 9, urgent_items=20)) == ("a", 20, False)


def test_background_work_runs_in_idle_gaps_only_and_goes_round_too() -> None:
    idle = [load("a", background=5), load("b"), load("c", background=5)]
    assert turn_of(*idle) == ("a", 2, True)
    assert turn_of(*idle, last="a") == ("c", 2, True)
    assert turn_of(*idle, gap_s=0.0) == ("a", 1, True)
    assert turn_of(*idle, load("d", 1)) == ("d", 8, False)


@pytest.mark.parametrize(("second", "places"), [(B, 8), (C, 6)])
def test_the_example_of_two_models_in_one_cycle(second: LatencyTable, places: int) -> None:
    # §3.2.1: a cycle of 125 ms has room for 8 of A (75 ms) and 4 of B (50 ms), but not 4 of C (60 ms).
    first = SessionLoad("A", A, 16, 16, due=0.200, urgent_items=1)
    other = SessionLoad("other", second, 16, 4, due=0.125, urgent_items=4)
    turn = next_turn([first, other], None, 0.0, 0.0)
    assert turn is not None
    assert turn.places == places


def load_of(name: str, queue: Sequence[Ask], background: int = 0) -> SessionLoad:
    due, places = most_urgent(queue, 0.0, ONE_S_EACH)
    return SessionLoad(name, ONE_S_EACH, 8, len(queue), due, places, background)


def test_the_load_of_a_queue_is_its_most_urgent_request_that_can_be_in_time() -> None:
    queue = [Ask(9.0), Ask(1.0), Ask(8.0, items=3, downstream_s=2.0), Ask(3.0, items=4)]
    found = load_of("a", queue, 2)
    assert found == SessionLoad("a", ONE_S_EACH, 8, waiting=4, due=6.0, urgent_items=3, background=2)


def test_the_load_of_a_late_queue_has_nothing_urgent() -> None:
    found = load_of("a", [Ask(1.0)])
    assert (found.waiting, found.due, found.urgent_items) == (1, math.inf, 0)


@given(st.lists(queues, min_size=1, max_size=6), st.integers(0, 5))
def test_every_waiting_session_is_served_within_a_round(sessions: list[list[Ask]], last: int) -> None:
    names = "abcdef"[: len(sessions)]
    loads = [load_of(name, queue) for name, queue in zip(names, sessions, strict=True)]
    waiting = [each.name for each in loads if each.waiting]
    served, now, before = [], 0.0, names[min(last, len(names) - 1)]
    for _ in waiting:
        turn = next_turn(loads, before, now, 1.0)
        assert turn is not None
        served.append(turn.name)
        now, before = now + ONE_S_EACH(turn.places), turn.name
    assert sorted(served) == sorted(waiting)
    start = names.index(names[min(last, len(names) - 1)]) + 1
    round_from_there = islice(cycle(names), start, start + len(names))
    assert served == [name for name in round_from_there if name in waiting]


@given(st.lists(st.floats(3.0, 40.0), min_size=1, max_size=5))
def test_a_turn_never_takes_a_deadline_that_could_be_kept(dues: list[float]) -> None:
    others = [load(str(number), 1, due) for number, due in enumerate(dues)]
    turn = next_turn([load("a", 9), *others], None, 0.0, 0.0)
    assert turn is not None
    with_one, with_turn = (
        [start + 2.0 * (number + 1) <= due + 1e-6 for number, due in enumerate(dues)]
        for start in (ONE_S_EACH(1), ONE_S_EACH(turn.places))
    )
    assert with_turn == with_one


@given(queues, st.integers(0, 3))
def test_loads_count_what_waits(queue: list[Ask], background: int) -> None:
    found = load_of("a", queue, background)
    assert (found.waiting, found.background) == (len(queue), background)
    assert (found.urgent_items == 0) == math.isinf(found.due)
