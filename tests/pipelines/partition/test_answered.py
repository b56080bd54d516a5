"""What is kept of the tail of the results topic."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from pipelines.partition.resume import RECENT_RESULTS, RESULT_OVERHEAD_BYTES, RUN_COSTS, Answered, RecentResults

FRAMES = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.booleans()))


@given(FRAMES)
def test_below_the_bound_it_is_a_set(steps: list[tuple[str, int, bool]]) -> None:
    answered, model = Answered(), set[tuple[str, int]]()
    for run, seq, add in steps:
        if add:
            answered.add(("cam", run), seq)
            model.add((run, seq))
        else:
            assert answered.take(("cam", run), seq) == ((run, seq) in model)
            model.discard((run, seq))
        assert len(answered) == len(model)
    assert answered.left_out == 0


@given(FRAMES, st.integers(RUN_COSTS + 1, 60))
def test_beyond_the_bound_the_run_met_first_goes(steps: list[tuple[str, int, bool]], most: int) -> None:
    answered, runs = Answered(most), defaultdict[str, set[int]](set)
    for run, seq, _ in steps:
        answered.add(("cam", run), seq)
        runs[run].add(seq)
        while sum(map(len, runs.values())) + RUN_COSTS * len(runs) > most:
            del runs[next(iter(runs))]
        assert len(answered) == sum(map(len, runs.values()))
    assert all(answered.take(("cam", run), seq) for run, seqs in runs.items() for seq in seqs)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2000))))
def test_recent_results_are_bounded_in_bytes(steps: list[tuple[str, int]]) -> None:
    bound = 10 * RESULT_OVERHEAD_BYTES
    recent = RecentResults(bound)
    for stream, size in steps:
        recent.add(stream, bytes(size))
        assert 0 <= recent.size_bytes <= bound
    if steps:
        assert recent.pop(steps[-1][0])[-1:] == [bytes(steps[-1][1])]
    for stream in "abc":
        recent.pop(stream)
    assert recent.size_bytes == 0


def test_the_last_of_each_stream_are_kept_in_order() -> None:
    recent = RecentResults()
    for number in range(RECENT_RESULTS + 10):
        recent.add("gate", bytes([number]), number)
        recent.add("yard", bytes([number]), number)
    assert recent.pop("gate") == [bytes([number]) for number in range(10, RECENT_RESULTS + 10)]
    assert recent.pop("gate") == []
