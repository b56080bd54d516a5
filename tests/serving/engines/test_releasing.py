"""Networks whose answers go out while the batch runs on: who hears of what, when, and what follows at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import Answering, ExitOutputs, Exits
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.engines.releasing import Releasing
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.taps import tap_grid, tapped


class Said(NamedTuple):
    distribution: NDArray[np.float32]
    hit: NDArray[np.bool_]


class Scripted:
    """Answers as it is told for each call; notes how many items it was shown, and how many requests were out then."""

    def __init__(self, *hits: Sequence[bool], out: Sequence[object] = ()) -> None:
        self._hits, self._out = list(hits), out
        self.shown, self.out_before = list[int](), list[int]()

    def look(self, features: NDArray[np.float32]) -> Said:
        self.shown.append(len(features))
        self.out_before.append(len(self._out))
        return Said(np.tile(np.float32([0.75, 0.25]), (len(features), 1)), np.array(self._hits.pop(0)))


@pytest.fixture(scope="module")
def network() -> onnx.ModelProto:
    return onnx.load(Catalogue([SHIPPED]).find("street-kind").path)


@pytest.fixture(scope="module")
def points(network: onnx.ModelProto) -> list[CutPoint]:
    found = [point for point in cut_points(network) if tap_grid(point)]
    return [found[len(found) // 3], found[2 * len(found) // 3]]


@pytest.fixture(scope="module")
def exits(points: list[CutPoint]) -> Exits:
    return Exits([point.tensor for point in points], releases=True)


@pytest.fixture(scope="module")
def group(network: onnx.ModelProto, points: list[CutPoint], exits: Exits) -> Iterator[Releasing]:
    engine = OnnxRuntimeEngine("kind", threads=1)
    made = Releasing(ExitNetwork("kind", tapped(network, points), exits, engine, 8))
    yield made
    made.close()


@pytest.fixture(scope="module")
def whole(network: onnx.ModelProto) -> EngineNetwork:
    return EngineNetwork("kind", network, OnnxRuntimeEngine("kind", threads=1))


def items(network: onnx.ModelProto, count: int) -> Array:
    shape = [dim.dim_value for dim in network.graph.input[0].type.tensor_type.shape.dim[1:]]
    return np.random.default_rng(count).random((count, *shape), np.float32)


def answering(exits: Exits, first: Scripted, second: Scripted) -> None:
    exits.exchange(Answering(dict(zip(exits.cuts, (first, second), strict=True)), classes=2, version=7))


def test_a_request_hears_early_once_all_its_items_are_answered_and_the_whole_follows(network, group, whole, exits):
    out: list[ExitOutputs] = []
    second = Scripted([True, False, True], out=out)
    answering(exits, Scripted([True, True, False, True, False, False]), second)
    batch = items(network, 6)
    told = lambda outputs: out.append(ExitOutputs.of(outputs))  # noqa: E731
    asked = [
        GroupRequest("kind", batch[:2], told),
        GroupRequest("kind", batch[2:4], told),
        GroupRequest("kind", batch[4:], told),
    ]
    found = [ExitOutputs.of(each) for each in group.run(asked, 8)]
    assert (second.shown, second.out_before) == ([3], [1]), "the first request was out before the second exit looked"
    first_out, second_out = out
    assert (first_out.place.tolist(), second_out.place.tolist()) == ([0, 0], [1, 0])
    assert first_out.distribution.tolist() == [[0.75, 0.25]] * 2
    assert (first_out.version == 7).all()
    assert (first_out.scores == 0).all(), "nobody knows yet what the network itself says"
    assert [each.place.tolist() for each in found] == [[0, 0], [1, 0], [2, 1]]
    np.testing.assert_array_equal(np.concatenate([each.scores for each in found]), whole.run(batch)[0])
    assert all(tap.shape[1] and (tap != 0).any() for each in found for tap in each.taps)
    assert found[2].distribution.tolist() == [[0, 0], [0.75, 0.25]]


def test_scores_and_taps_are_those_of_a_run_in_which_nobody_answers(network, group, exits):
    batch = items(network, 4)
    answering(exits, Scripted([True, False, False, True]), Scripted([False, True]))
    released = ExitOutputs.of(group.run([GroupRequest("kind", batch)], 8)[0])
    exits.be_silent_once()
    silent = ExitOutputs.of(group.run([GroupRequest("kind", batch)], 8)[0])
    np.testing.assert_array_equal(released.scores, silent.scores)
    for one, other in zip(released.taps, silent.taps, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (silent.version == 0).all()
    assert (silent.place == 2).all()


def test_a_request_that_runs_in_steps_hears_of_all_its_items_at_once(network, group, exits):
    out: list[ExitOutputs] = []
    answering(exits, Scripted([True, True], [True, True], [True]), Scripted())
    asked = [GroupRequest("kind", items(network, 5), lambda outputs: out.append(ExitOutputs.of(outputs)))]
    (found,) = group.run(asked, 2)
    assert [len(each.place) for each in out] == [5]
    assert len(found[0]) == 5


def test_a_request_with_an_item_that_nobody_answers_hears_nothing_early(network, group, exits):
    out: list[list[Array]] = []
    answering(exits, Scripted([True, False]), Scripted([False]))
    (found,) = group.run([GroupRequest("kind", items(network, 2), out.append)], 8)
    assert out == []
    assert ExitOutputs.of(found).place.tolist() == [0, 2]


def test_exits_that_are_all_closed_keep_their_version_and_give_taps(network, group, exits):
    exits.exchange(Answering({}, classes=2, version=9))
    found = ExitOutputs.of(group.run([GroupRequest("kind", items(network, 2))], 8)[0])
    assert (found.version == 9).all()
    assert (found.place == 2).all()
    assert all(tap.shape[1] for tap in found.taps)


def test_early_answers_stay_as_they_are_when_the_network_runs_again(network, group, exits):
    out: list[list[Array]] = []
    answering(exits, Scripted([True] * 3, [True]), Scripted())
    group.run([GroupRequest("kind", items(network, 3), out.append)], 8)
    kept = [part.copy() for part in out[0]]
    group.run([GroupRequest("kind", items(network, 1), out.append)], 8)
    for before, now in zip(kept, out[0], strict=True):
        np.testing.assert_array_equal(before, now)


def test_a_failure_after_an_early_answer_is_the_runs(network, group, exits, monkeypatch):
    out: list[list[Array]] = []

    class Breaks:
        def look(self, features: NDArray[np.float32]) -> Said:
            raise ValueError("no such cache")

    exits.exchange(
        Answering(dict(zip(exits.cuts, (Scripted([True, False]), Breaks()), strict=True)), classes=2, version=7)
    )
    batch = items(network, 2)
    with pytest.raises(ValueError, match="no such cache"):
        group.run([GroupRequest("kind", batch[:1], out.append), GroupRequest("kind", batch[1:], out.append)], 8)
    assert len(out) == 1
