"""Feature networks compute what the whole network computes up to the cut, averaged in parts."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from benchmarks.weg_parts.train_plates import MODELS
from serving.catalogue.lookup import Catalogue, read_weights
from serving.errors import ModelError
from serving.graphs.cut_points import all_cut_points
from specialization.templates.feature_network import FEATURES, before_last_layer, early, feature_network
from tests.serving.graphs.onnx_graphs import classifier, graph, pictures, run


def inner(model: onnx.ModelProto, tensor: str, items: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """The value of a tensor within the network."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.append(helper.make_tensor_value_info(tensor, onnx.TensorProto.FLOAT, None))
    return run(copy, items)


def test_before_the_last_layer_lies_what_a_head_replaces() -> None:
    model, items = classifier(), pictures(3)
    cut = before_last_layer(model)
    network = feature_network(model, cut)
    onnx.checker.check_model(network, full_check=True)
    assert [output.name for output in network.graph.output] == [FEATURES]
    np.testing.assert_allclose(run(network, items), inner(model, "flat", items), rtol=1e-5)


@pytest.mark.parametrize(("side", "strides"), [(8, 8), (6, 6), (7, 7), (5, 5), (3, 3), (2, 2)])
def test_early_maps_are_averaged_in_nine_parts_of_any_size(side: int, strides: int) -> None:
    model, items = classifier(side=side), pictures(2, side=side)
    cut = early(model, 0.5)
    features = run(feature_network(model, cut), items)
    maps = inner(model, cut.tensor, items)
    parts = min(3, side)
    assert features.shape == (2, maps.shape[1] * parts**2)
    step = side // parts
    kernel = side - (parts - 1) * step
    first = maps[:, :, :kernel, :kernel].mean(axis=(2, 3))
    last = maps[:, :, -kernel:, -kernel:].mean(axis=(2, 3))
    by_part = features.reshape(2, maps.shape[1], parts, parts)
    np.testing.assert_allclose(by_part[:, :, 0, 0], first, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_part[:, :, -1, -1], last, rtol=1e-4, atol=1e-6)


def test_many_channels_are_averaged_in_fewer_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, items = classifier(width=16), pictures(2)
    monkeypatch.setattr("specialization.templates.feature_network.MOST_DIMS", 64)
    assert run(feature_network(model, early(model, 0.5)), items).shape == (2, 64)
    monkeypatch.setattr("specialization.templates.feature_network.MOST_DIMS", 16)
    assert run(feature_network(model, early(model, 0.5)), items).shape == (2, 16)


def test_maps_whose_size_is_open_are_averaged_as_a_whole() -> None:
    nodes = [
        helper.make_node("Conv", ["images", "w"], ["c"], kernel_shape=[3, 3]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["d"], kernel_shape=[3, 3]),
        helper.make_node("GlobalAveragePool", ["d"], ["out"]),
    ]
    weights = {"w": np.ones((4, 3, 3, 3), np.float32), "v": np.ones((5, 4, 3, 3), np.float32)}
    model = graph(nodes, weights, ["N", 3, "H", "W"], "out")
    cut = next(point for point in all_cut_points(model) if point.tensor == "r")
    features = run(feature_network(model, cut), pictures(2, side=9))
    np.testing.assert_allclose(features, inner(model, "r", pictures(2, side=9)).mean(axis=(2, 3)), rtol=1e-4, atol=1e-5)


def test_the_batch_stays_as_it_is() -> None:
    model = classifier(batch=1)
    network = feature_network(model, early(model, 0.5))
    assert network.graph.output[0].type.tensor_type.shape.dim[0].dim_value == 1
    assert run(network, pictures(1)).shape[0] == 1


@pytest.mark.parametrize("share", [0.1, 0.2, 0.35])
def test_the_deepest_cut_within_the_share_is_taken(share: float) -> None:
    entry = Catalogue([MODELS]).find("plates")
    model = read_weights(entry.path, entry.card)
    cut = early(model, share)
    assert cut.share <= share
    later = [point for point in all_cut_points(model) if cut.share < point.share <= share]
    assert not [point for point in later if point.tensor.endswith("/Relu_1_output_0")]


def test_networks_that_cannot_be_cut_are_refused() -> None:
    model = classifier()
    with pytest.raises(ModelError, match="cannot be cut within the first 1%"):
        early(model, 0.01)
    nodes = [helper.make_node("ReduceMean", ["images"], ["out"], axes=[2, 3], keepdims=0)]
    with pytest.raises(ModelError, match="before its last layer"):
        before_last_layer(graph(nodes, {}, ["N", 3, 8, 8], "out"))
