from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from serving.graphs.fold import folded
from tests.serving.graphs.onnx_graphs import classifier, graph, in_half_precision, pictures, run


def test_casts_of_weights_go_and_nothing_changes() -> None:
    plain = folded(in_half_precision(classifier()))
    assert {node.op_type for node in plain.graph.node} == {node.op_type for node in classifier().graph.node}
    assert {tensor.data_type for tensor in plain.graph.initializer} == {TensorProto.FLOAT}
    np.testing.assert_array_equal(run(plain, pictures(3)), run(in_half_precision(classifier()), pictures(3)))


def test_the_given_model_is_left_alone() -> None:
    model = in_half_precision(classifier())
    before = model.SerializeToString(deterministic=True)
    folded(model)
    assert model.SerializeToString(deterministic=True) == before


def test_casts_of_data_stay() -> None:
    nodes = [
        helper.make_node("Cast", ["images"], ["whole"], to=TensorProto.INT32),
        helper.make_node("Cast", ["whole"], ["y"], to=TensorProto.FLOAT),
    ]
    model = graph(nodes, {}, ["N", 3, 8, 8], "y")
    assert folded(model).graph.node == model.graph.node


def test_weights_that_are_also_read_as_they_are_stay() -> None:
    half = np.ones((3, 8, 8), np.float16)
    nodes = [
        helper.make_node("Cast", ["w"], ["single"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["w"], ["whole"], to=TensorProto.INT32),
        helper.make_node("Cast", ["whole"], ["again"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["single", "again"], ["both"]),
        helper.make_node("Add", ["images", "both"], ["y"]),
    ]
    model = graph(nodes, {"w": half}, ["N", 3, 8, 8], "y")
    plain = folded(model)
    assert {tensor.name for tensor in plain.graph.initializer} == {"w", "single"}
    np.testing.assert_array_equal(run(plain, pictures(1)), pictures(1) + 2)
