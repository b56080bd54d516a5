"""Networks with exits: answers are those of the whole, items that are answered leave, and nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import Answering, ExitOutputs, Exits
from serving.engines.network import EngineNetwork, interrupt
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError, SluiceError
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.taps import MOST_VALUES, tap_grid, tapped


class Said(NamedTuple):
    distribution: NDArray[np.float32]
    hit: NDArray[np.bool_]


class Marked:
    """Answers items whose first pixel is above a limit; notes how many it was shown."""

    def __init__(self, hits: list[bool]) -> None:
        self._hits, self.shown = hits, list[int]()

    def look(self, features: NDArray[np.float32]) -> Said:
        self.shown.append(len(features))
        hit = np.array(self._hits[: len(features)])
        return Said(np.tile(np.float32([0.75, 0.25]), (len(features), 1)), hit)


@pytest.fixture(scope="module")
def network() -> onnx.ModelProto:
    return onnx.load(Catalogue([SHIPPED]).find("street-kind").path)


@pytest.fixture(scope="module")
def points(network: onnx.ModelProto) -> list[CutPoint]:
    found = [point for point in cut_points(network) if tap_grid(point)]
    return [found[len(found) // 3], found[2 * len(found) // 3]]


@pytest.fixture(scope="module")
def exits(points: list[CutPoint]) -> Exits:
    return Exits([point.tensor for point in points])


@pytest.fixture(scope="module")
def opened(network: onnx.ModelProto, points: list[CutPoint], exits: Exits) -> Iterator[ExitNetwork]:
    made = ExitNetwork("kind", tapped(network, points), exits, OnnxRuntimeEngine("kind", threads=1), 8)
    yield made
    made.close()


@pytest.fixture(scope="module")
def whole(network: onnx.ModelProto) -> EngineNetwork:
    return EngineNetwork("kind", network, OnnxRuntimeEngine("kind", threads=1))


@pytest.fixture(autouse=True)
def closed(exits: Exits) -> None:
    exits.exchange(Answering({}))


def items(network: onnx.ModelProto, count: int) -> NDArray[np.float32]:
    shape = [dim.dim_value for dim in network.graph.input[0].type.tensor_type.shape.dim[1:]]
    return np.random.default_rng(count).random((count, *shape), np.float32)


@pytest.mark.parametrize("count", [1, 5, 2])
def test_without_an_exit_scores_are_those_of_the_whole(network, opened, whole, exits, count):
    batch = items(network, count)
    found = ExitOutputs.of(opened.run(batch))
    np.testing.assert_array_equal(found.scores, whole.run(batch)[0])
    assert (found.place == len(exits.cuts)).all()
    assert found.distribution.shape == (count, 0)


def test_items_that_are_answered_leave_and_the_others_are_not_disturbed(network, opened, whole, exits):
    first, second = Marked([False, True, False, False, True]), Marked([True, False, False])
    exits.exchange(Answering(dict(zip(exits.cuts, (first, second), strict=True)), classes=2, version=7))
    batch = items(network, 5)
    found = ExitOutputs.of(opened.run(batch))
    assert (first.shown, second.shown) == ([5], [3])
    assert found.place.tolist() == [1, 0, 2, 2, 0]
    assert (found.version == 7).all()
    np.testing.assert_array_equal(found.distribution[:, 0], np.float32([0.75, 0.75, 0, 0, 0.75]))
    scores = whole.run(batch)[0]
    # Batches of other sizes round differently in the last bits.
    np.testing.assert_allclose(found.scores[[2, 3]], scores[[2, 3]], rtol=1e-4, atol=1e-5)
    assert (found.scores[[0, 1, 4]] == 0).all()


def test_where_all_leave_the_rest_does_not_run(network, opened, exits, monkeypatch):
    exits.exchange(Answering({exits.cuts[0]: Marked([True] * 3)}, classes=2))
    opened.run(items(network, 3))
    monkeypatch.setitem(opened._runs, (2, 3), None)
    found = ExitOutputs.of(opened.run(items(network, 3)))
    assert (found.place == 0).all()
    assert (found.scores == 0).all()
    assert len(found.scores) == 3
    assert [tap.shape for tap in found.taps] == [(3, 0)] * 2  # nobody reads them


def test_taps_are_the_activations_pooled_to_the_grid(network, opened, points):
    from serving.graphs.segments import split

    batch, point = items(network, 2), points[0]
    engine = OnnxRuntimeEngine("kind", threads=1)
    engine.load([split(network, [point.tensor])[0].SerializeToString()])
    (activation,) = engine.run(0, batch)
    engine.close()
    channels, rows, columns = tap_grid(point)
    blocks = activation.reshape(2, channels, rows, activation.shape[2] // rows, columns, -1)
    found = ExitOutputs.of(opened.run(batch)).taps[0]
    np.testing.assert_allclose(found, blocks.mean(axis=(3, 5)).reshape(2, -1), rtol=1e-4, atol=1e-5)


def test_answers_stay_when_the_network_runs_again(network, opened):
    first = ExitOutputs.of(opened.run(items(network, 4)))
    kept = [part.copy() for part in first.as_list()]
    opened.run(items(network, 3))
    for before, now in zip(kept, first.as_list(), strict=True):
        np.testing.assert_array_equal(before, now)


def test_memory_has_the_buffers_in_it(network, opened):
    opened.run(items(network, 8))
    arrays = [*opened._handed, *opened._taps, opened._scores]
    assert opened.memory_bytes() > sum(each.nbytes for each in arrays) > 0
    assert {len(each) for each in arrays} == {8}


def test_what_does_not_fit_is_refused(network, opened, points):
    with pytest.raises(ModelError, match="empty batch"):
        opened.check(items(network, 1)[:0])
    with pytest.raises(ModelError, match="takes float32"):
        opened.check(np.zeros((1, 3), np.float32))
    with pytest.raises(ModelError, match="one segment more"):
        ExitNetwork("kind", tapped(network, points), Exits(["a"]), OnnxRuntimeEngine("kind", threads=1))
    with pytest.raises(ValueError, match="no cut at nowhere"):
        Exits(["somewhere"]).exchange(Answering({"nowhere": Marked([])}))


@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ((None, 64, 24, 24), (64, 4, 4)),
        ((None, 256, 6, 6), (256, 2, 2)),
        ((None, 512, 3, 3), (512, 1, 1)),
        ((None, 100, 3, 3), (100, 3, 3)),
        ((None, 512), (512, 1, 1)),
        ((None, MOST_VALUES + 1), None),
        ((None, 64, None, 24), None),
        ((None, 16, 7), None),
    ],
)
def test_a_tap_is_small(shape, grid):
    assert tap_grid(CutPoint("here", shape, 1, 0.5)) == grid


def test_nobody_answers_for_one_batch_where_that_is_asked_for(network, opened, whole, exits):
    exits.exchange(Answering({exits.cuts[0]: Marked([True] * 3)}, classes=2, version=7))
    batch = items(network, 3)
    exits.be_silent_once()
    silent, next_ = (ExitOutputs.of(opened.run(batch)) for _ in range(2))
    np.testing.assert_array_equal(silent.scores, whole.run(batch)[0])
    assert (silent.version == 0).all()
    assert all((tap != 0).any() for tap in silent.taps)
    assert (next_.place == 0).all()
    assert (next_.version == 7).all()


def test_bound_segments_run_with_options_that_another_thread_can_use_to_end_them(network):
    engine, batch = OnnxRuntimeEngine("kind", threads=1), items(network, 1)
    engine.load([network.SerializeToString()])
    expected = engine.run(0, batch)
    scores = [np.empty_like(each) for each in expected]
    run = engine.bound(0, batch, scores)
    with engine.one_run() as options:
        # Where it is missing the runtime throws inside of every bound run, and catches.
        assert options.get_run_config_entry("gpu_graph_id") == "0"
        run(options)
    np.testing.assert_array_equal(scores[0], expected[0])
    with engine.one_run() as options:
        interrupt(threading.current_thread())
        with pytest.raises(SluiceError, match="failed"):
            run(options)
    engine.close()
