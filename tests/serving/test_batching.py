from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from serving.batching import next_batch


@dataclass(frozen=True)
class Ask:
    deadline: float
    items: int = 1


queues_of_asks = st.dictionaries(
    st.sampled_from("abc"),
    st.lists(st.builds(Ask, st.integers(0, 9).map(float), st.integers(1, 9)), max_size=8),
)
LIMITS = {"a": 4, "b": 8, "c": 1}


def test_nothing_waits() -> None:
    assert next_batch({}, {}) is None
    assert next_batch({"a": []}, {"a": 4}) is None


def test_the_model_with_the_most_urgent_request_goes_first() -> None:
    chosen = next_batch({"a": [Ask(3.0), Ask(2.0)], "b": [Ask(9.0), Ask(1.0)]}, {"a": 4, "b": 4})
    assert chosen == ("b", [Ask(1.0), Ask(9.0)])


def test_a_batch_is_filled_in_order_of_deadline_up_to_the_limit() -> None:
    assert next_batch({"a": [Ask(3.0), Ask(1.0, 2), Ask(2.0)]}, {"a": 3}) == ("a", [Ask(1.0, 2), Ask(2.0)])


def test_a_request_beyond_the_limit_runs_alone() -> None:
    assert next_batch({"a": [Ask(1.0, 9), Ask(2.0)]}, {"a": 4}) == ("a", [Ask(1.0, 9)])


def test_equal_deadlines_keep_the_order_of_arrival() -> None:
    first, second = Ask(1.0, 2), Ask(1.0, 2)
    chosen = next_batch({"a": [first, second]}, {"a": 2})
    assert chosen is not None
    assert chosen[1][0] is first


@given(queues_of_asks)
def test_a_batch_is_urgent_first_and_within_its_limit(queues: dict[str, list[Ask]]) -> None:
    chosen = next_batch(queues, LIMITS)
    waiting = [ask for queue in queues.values() for ask in queue]
    if chosen is None:
        assert not waiting
        return
    model, requests = chosen
    assert requests[0].deadline == min(ask.deadline for ask in waiting)
    assert len(requests) == 1 or sum(ask.items for ask in requests) <= LIMITS[model]
    assert [ask.deadline for ask in requests] == sorted(ask.deadline for ask in requests)
