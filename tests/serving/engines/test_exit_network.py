"""Each row of a batch goes the way that its request's policy says, whoever shares the batch with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxruntime import RunOptions

from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork, HostActivations
from serving.engines.exits import ExitResult, RowPolicy
from serving.engines.groups import GroupRequest
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError
from serving.graphs.taps import tapped
from tests.serving.engines.cut_rows import (
    ROWS,
    Asked,
    Knows,
    alone,
    check,
    cuts,
    items,
    network,
    opened,
    points,
    run,
    whole,
)

NONE, ALL = frozenset[int](), frozenset(range(ROWS))


@pytest.fixture(scope="module")
def cut() -> Iterator[ExitNetwork]:
    alone()  # no network is run while another one is
    made = opened()
    yield made
    made.close()


def near(one: Array, other: Array) -> None:
    # Batches of other sizes round differently in the last bits.
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def at(*exits: Knows) -> dict[str, Knows]:
    return {cuts()[each.cut]: each for each in exits}


def rows_by_segment(cut: ExitNetwork, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows pass each segment from now on."""
    through, rows = cut._activations.through, list[int]()

    def counted(segment: int, count: int, options: RunOptions) -> Array:
        rows.append(count)
        return through(segment, count, options)

    monkeypatch.setattr(cut._activations, "through", counted)
    return rows


@st.composite
def batches(draw: st.DrawFn) -> list[Asked]:
    """Requests with exits of their own, or with exits that others have too, or with none."""
    some = st.frozensets(st.integers(0, ROWS - 1))
    known = [(Knows(0, draw(some)), Knows(1, draw(some))) for _ in range(2)]
    asked = []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=4))
        exits = draw(st.none() | st.tuples(*[st.none() | st.sampled_from(each) for each in zip(*known, strict=True)]))
        leaves = draw(st.none() | st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
        asked.append(Asked(rows, None if exits is None else at(*filter(None, exits)), leaves))
    return asked


@settings(max_examples=150)
@given(batches(), st.integers(1, 6))
def test_every_request_has_what_it_would_have_row_by_row(cut: ExitNetwork, asked: list[Asked], step: int) -> None:
    found = run(cut, asked, step)
    for each, result in zip(asked, found, strict=True):
        expected = each.expected()
        check(result, expected, near)


@pytest.mark.parametrize("count", [1, 5, 2])
def test_without_a_policy_scores_are_bit_for_bit_those_of_the_whole(cut, count):
    asked = Asked(range(count))
    (found,) = run(cut, [asked])
    np.testing.assert_array_equal(found.scores, whole().run(items()[:count])[0])
    assert found.distribution.shape == (count, 0)
    assert (found.place == 2).all()
    (plain,) = cut.run([GroupRequest("kind", items()[:count])], 8)
    for one, other in zip(plain, found.as_list(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_that_run_on_are_heard_once_and_end_bit_for_bit_as_the_whole(cut):
    first, second = Knows(0, frozenset({0, 2})), Knows(1, ALL)
    asked = Asked(range(4), at(first, second), [False] * 4)
    (found,) = run(cut, [asked])
    assert (first.shown, second.shown) == ([[0, 1, 2, 3]], [[1, 3]])
    assert found.place.tolist() == [0, 1, 0, 1]
    assert not found.left.any()
    np.testing.assert_array_equal(found.scores, whole().run(items()[:4])[0])
    check(found, asked.expected(), near)


def test_exits_of_several_requests_look_at_their_own_rows_only_and_a_common_one_once(cut):
    mine, yours, common = Knows(0, frozenset({1})), Knows(0, NONE, classes=2), Knows(1, frozenset({0}))
    asked = [
        Asked([0, 1], at(mine, common)),
        Asked([2], {cuts()[0]: yours}, classes=2),
        Asked([3]),
        Asked([4, 5], at(common)),
    ]
    for each, result in zip(asked, run(cut, asked), strict=True):
        check(result, each.expected(), near)
    # Those who stay may stand in another order.
    assert (mine.shown, yours.shown, [sorted(rows) for rows in common.shown]) == ([[0, 1]], [[2]], [[0, 4, 5]])


def test_where_all_leave_the_rest_does_not_run(cut, monkeypatch):
    asked = Asked(range(3), at(Knows(0, ALL)))
    rows = rows_by_segment(cut, monkeypatch)
    (found,) = run(cut, [asked])
    assert rows == [3, 0, 0]
    check(found, asked.expected(), near)
    assert [tap.shape for tap in found.taps] == [tap[:3].shape for tap in alone().taps]


def test_rows_that_another_network_answers_stop_at_the_last_cut_and_others_of_the_batch_run_on(cut, monkeypatch):
    exits = at(Knows(0, frozenset({0})), Knows(1, frozenset({1})))
    asked, others = Asked(range(4), exits, [True, True, False, True]), Asked([4, 5], exits)
    policy = asked.request().policy
    request = asked.request()._replace(policy=RowPolicy(policy.exits, policy.leaves, to_end=False))
    stopped, ran_on = (ExitResult.of(each) for each in cut.run([request, others.request()], 8))
    expected = asked.expected()
    check(stopped, replace(expected, scores=np.zeros_like(expected.scores)), near)
    check(ran_on, others.expected(), near)
    unheard = request._replace(policy=RowPolicy(to_end=False))
    cut.run([unheard], 8)
    rows = rows_by_segment(cut, monkeypatch)
    (alone_,) = (ExitResult.of(each) for each in cut.run([unheard], 8))
    assert rows == [4, 4, 0]
    assert not alone_.left.any()
    assert not alone_.scores.any()
    assert alone_.place.tolist() == [2] * 4
    for tap, other in zip(alone_.taps, expected.taps, strict=True):
        near(tap, other)


def test_a_failing_exit_fails_the_run_and_the_next_one_is_right(cut):
    class Breaks(Knows):
        def look(self, features):
            raise ValueError("no such exit")

    first = Asked([0], at(Knows(0, ALL), Knows(1, ALL)))
    with pytest.raises(ValueError, match="no such exit"):
        run(cut, [first, Asked([1], at(Breaks(1, ALL)))])
    check(run(cut, [first])[0], first.expected(), near)


def test_answers_stay_when_the_network_runs_again(cut):
    asked = Asked(range(4), at(Knows(0, frozenset({1})), Knows(1, frozenset({2}))), [True, False, True, True])
    (outputs,) = cut.run([asked.request()], 8)
    kept = [part.copy() for part in outputs]
    run(cut, [Asked([5, 6, 7])])
    for before, now in zip(kept, outputs, strict=True):
        np.testing.assert_array_equal(before, now)


def test_memory_has_the_buffers_in_it(cut):
    run(cut, [Asked(range(8))])
    if not isinstance(cut._activations, HostActivations):
        pytest.skip("activations lie on a GPU here")
    arrays = [*cut._activations._handed, *cut._activations._taps, cut._activations._scores]
    assert cut.memory_bytes() > sum(each.nbytes for each in arrays) > 0
    assert {len(each) for each in arrays} == {8}


def test_what_does_not_fit_is_refused(cut):
    with pytest.raises(ModelError, match="empty batch"):
        cut.check("kind", items()[:0])
    with pytest.raises(ModelError, match="takes float32"):
        cut.check("kind", np.zeros((1, 3), np.float32))
    with pytest.raises(ModelError, match="one segment more"):
        ExitNetwork("kind", tapped(network(), points()), cuts()[:1], OnnxRuntimeEngine("kind", threads=1))
