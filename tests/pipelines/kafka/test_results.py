"""Results that come again are told from new ones."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.wire.schema import Result
from pipelines.kafka.results import LatestResults
from tests.operators.publish.messages import result


def of(query: str, stream: str, run: str, seq: int) -> Result:
    return result(seq, stream=stream, run=run, query=query)


@pytest.mark.parametrize(
    ("repeated", "news"),
    [
        ([("cars", "a", "r", 7), ("cars", "a", "r", 7), ("cars", "a", "r", 6)], [True, False, False]),
        ([("cars", "a", "r", 7), ("faces", "a", "r", 7), ("faces", "a", "r", 7)], [True, True, False]),
        ([("cars", "a", "r", 7), ("cars", "a", "s", 0), ("cars", "a", "r", 7), ("cars", "a", "s", 0)], [1, 1, 0, 0]),
        ([("cars", "a", "r", 7), ("cars", "b", "r", 7)], [True, True]),
    ],
)
def test_a_result_is_known_by_query_stream_run_and_seq(
    repeated: list[tuple[str, str, str, int]], news: list[bool]
) -> None:
    latest = LatestResults()
    assert [latest.is_new(of(*each)) for each in repeated] == news


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3))))
def test_of_too_many_runs_the_one_heard_of_longest_ago_is_forgotten(heard: list[tuple[str, int]]) -> None:
    latest, known = LatestResults(most=3), OrderedDict[str, int]()
    for run, seq in heard:
        before = known.pop(run, -1)
        assert latest.is_new(of("q", "a", run, seq)) == (seq > before)
        known[run] = max(before, seq)
        if len(known) > 3:
            known.popitem(last=False)
