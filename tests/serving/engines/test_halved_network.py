"""A network in two halves: features and answers are those of the whole, and exits answer in the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.engines.exits import Answering, ExitOutputs, Exits
from serving.engines.groups import GroupRequest
from serving.engines.halved_network import HalvedNetwork
from serving.engines.halves import Halves
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.halves import behind, halves, meeting_place
from serving.graphs.taps import tap_grid
from specialization.templates.feature_network import early, feature_network

NAMES = Halves("first", "rest")


class Said(NamedTuple):
    distribution: NDArray[np.float32]
    hit: NDArray[np.bool_]


class Second:
    """Answers for the second of the items that it is shown."""

    def look(self, features: NDArray[np.float32]) -> Said:
        return Said(np.tile(np.float32([0.75, 0.25]), (len(features), 1)), np.arange(len(features)) == 1)


@pytest.fixture(scope="module")
def network() -> onnx.ModelProto:
    return onnx.load(Catalogue([SHIPPED]).find("street-kind").path)


@pytest.fixture(scope="module")
def cut(network: onnx.ModelProto) -> CutPoint:
    return early(network, 0.2)


@pytest.fixture(scope="module")
def features(network: onnx.ModelProto, cut: CutPoint) -> onnx.ModelProto:
    return feature_network(network, cut)


@pytest.fixture(scope="module")
def whole(network: onnx.ModelProto) -> Iterator[EngineNetwork]:
    made = EngineNetwork("kind", network, OnnxRuntimeEngine("kind", threads=1))
    yield made
    made.close()


def opened(features: onnx.ModelProto, network: onnx.ModelProto, exits: Exits) -> HalvedNetwork:
    later = behind(network, meeting_place(features, network)[1], exits.cuts)
    return HalvedNetwork(
        NAMES, halves(features, network, later), exits, OnnxRuntimeEngine("kind", threads=1), max_batch=8
    )


def items(network: onnx.ModelProto, count: int) -> NDArray[np.float32]:
    shape = [dim.dim_value for dim in network.graph.input[0].type.tensor_type.shape.dim[1:]]
    return np.random.default_rng(count).random((count, *shape), np.float32)


def test_both_halves_give_what_the_whole_networks_give(network, features, whole):
    halved, batch = opened(features, network, Exits(())), items(network, 5)
    ((activations, read),) = halved.run([GroupRequest(NAMES.first, batch)], 8)
    alone = EngineNetwork("features", features, OnnxRuntimeEngine("features", threads=1))
    np.testing.assert_allclose(read, alone.run(batch)[0], atol=1e-5)
    (outputs,) = halved.run([GroupRequest(NAMES.rest, activations[[4, 1]])], 8)
    np.testing.assert_allclose(ExitOutputs.of(outputs).scores, whole.run(batch)[0][[4, 1]], atol=1e-5)
    assert halved.memory_bytes() > 0
    halved.close()


def test_either_half_may_have_threads_of_its_own(network, features, whole):
    engine = OnnxRuntimeEngine("kind", threads=[1, 2])
    halved, batch = HalvedNetwork(NAMES, halves(features, network), Exits(()), engine), items(network, 2)
    ((activations, _),) = halved.run([GroupRequest(NAMES.first, batch)], 8)
    (outputs,) = halved.run([GroupRequest(NAMES.rest, activations)], 8)
    np.testing.assert_allclose(ExitOutputs.of(outputs).scores, whole.run(batch)[0], atol=1e-5)
    options = [segment._session.get_session_options() for segment in engine._segments]
    assert [each.intra_op_num_threads for each in options] == [1, 2]
    halved.close()


def test_requests_for_both_halves_wait_for_one_device(network, features, whole):
    halved, batch = opened(features, network, Exits(())), items(network, 3)
    ((activations, _),) = halved.run([GroupRequest(NAMES.first, batch)], 8)
    asked = [
        GroupRequest(NAMES.rest, activations[:1]),
        GroupRequest(NAMES.first, batch[:2]),
        GroupRequest(NAMES.rest, activations[1:]),
    ]
    found = halved.run(asked, 2)
    np.testing.assert_allclose(found[1][0], activations[:2], atol=1e-5)
    scores = np.concatenate([found[0][0], found[2][0]])
    np.testing.assert_allclose(scores, whole.run(batch)[0], atol=1e-5)
    halved.close()


def test_exits_behind_the_cut_answer_and_those_before_it_are_left_out(network, features, whole, cut):
    points = [point for point in cut_points(network) if tap_grid(point)]
    exits = Exits([points[0].tensor, points[-2].tensor, points[-1].tensor])
    assert points[0].flops < cut.flops < points[-2].flops
    halved, batch = opened(features, network, exits), items(network, 4)
    ((activations, _),) = halved.run([GroupRequest(NAMES.first, batch)], 8)
    silent = ExitOutputs.of(halved.run([GroupRequest(NAMES.rest, activations)], 8)[0])
    assert [tap.shape[1] > 0 for tap in silent.taps] == [False, True, True]
    assert silent.place.tolist() == [3] * 4
    exits.exchange(Answering({points[0].tensor: Second(), points[-1].tensor: Second()}, classes=2, version=9))
    found = ExitOutputs.of(halved.run([GroupRequest(NAMES.rest, activations)], 8)[0])
    assert found.place.tolist() == [3, 2, 3, 3]
    assert found.version.tolist() == [9] * 4
    np.testing.assert_allclose(found.scores[[0, 2, 3]], whole.run(batch)[0][[0, 2, 3]], atol=1e-5)
    halved.close()


def test_a_batch_that_a_half_does_not_take_is_refused(network, features):
    halved, batch = opened(features, network, Exits(())), items(network, 1)
    ((activations, _),) = halved.run([GroupRequest(NAMES.first, batch)], 8)
    halved.check(NAMES.rest, activations)
    with pytest.raises(ModelError, match="'first' takes float32"):
        halved.check(NAMES.first, activations)
    with pytest.raises(ModelError, match="'rest' takes float32"):
        halved.check(NAMES.rest, batch)
    halved.close()


def test_features_of_another_network_have_no_place_in_this_one(network, features):
    other = onnx.ModelProto()
    other.CopyFrom(network)
    for weights in other.graph.initializer:
        weights.raw_data = weights.raw_data[::-1]
    with pytest.raises(ModelError, match="no early cut of this one"):
        halves(features, other)
