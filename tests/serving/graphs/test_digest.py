from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

from serving.graphs.prefix import digest
from tests.serving.graphs.support import network

SIGNATURE = "(float[N,3,8,8] x) => (float[N,4,6,6] y)"
BODY = "a = Conv <pads = [0,0,0,0]> (x, w) b = Sigmoid (a) y = Mul (a, b)"
WEIGHTS = {"w": [4, 3, 3, 3]}


def net(signature: str = SIGNATURE, body: str = BODY, opset: int = 17, seed: int = 0) -> onnx.ModelProto:
    return network(signature, body, opset, seed, **WEIGHTS)


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same network with other names everywhere."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    for node in graph.node:
        node.input[:] = [f"new/{name}" for name in node.input]
        node.output[:] = [f"new/{name}" for name in node.output]
        node.name, node.doc_string = "node", "a note"
        for attribute in node.attribute:
            attribute.doc_string = "another"
    for named in [*graph.input, *graph.output, *graph.initializer]:
        named.name = f"new/{named.name}"
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    graph.name, copy.producer_name = "other", "somebody"
    onnx.checker.check_model(copy)
    return copy


def test_names_and_notes_do_not_count() -> None:
    assert digest(renamed(net())) == digest(net())


def test_order_of_independent_nodes_does_not_count() -> None:
    left = net(body="a = Conv(x, w) b = Sigmoid(a) c = Tanh(a) y = Mul(b, c)")
    right = net(body="a = Conv(x, w) c = Tanh(a) b = Sigmoid(a) y = Mul(b, c)")
    assert digest(left) == digest(right)


def test_how_a_constant_is_stored_does_not_count() -> None:
    model, plain, node = net(), net(), net()
    values = numpy_helper.to_array(model.graph.initializer[0])
    plain.graph.initializer[0].ClearField("raw_data")
    plain.graph.initializer[0].float_data.extend(values.ravel().tolist())
    del node.graph.initializer[:]
    node.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["w"], value=model.graph.initializer[0]))
    assert digest(plain) == digest(node) == digest(model)


def test_an_operator_set_counts_only_where_it_changes_an_operator() -> None:
    assert digest(net(opset=16)) == digest(net(opset=17))
    assert digest(net(opset=13)) != digest(net(opset=22))  # Conv was changed in 22


@pytest.mark.parametrize(
    "other",
    [
        net(seed=1),
        net(SIGNATURE.replace("6,6]", "8,8]"), BODY.replace("0,0,0,0", "1,1,1,1")),
        net(body=BODY.replace("Sigmoid", "Tanh")),
        net(body=BODY.replace("Mul (a, b)", "Mul (a, a)")),
        net(signature=SIGNATURE.replace("[N,3", "[1,3")),
    ],
)
def test_what_is_computed_counts(other: onnx.ModelProto) -> None:
    assert digest(other) != digest(net())


def test_order_of_operands_counts() -> None:
    assert digest(net(body=BODY.replace("Mul (a, b)", "Sub (a, b)"))) != digest(
        net(body=BODY.replace("Mul (a, b)", "Sub (b, a)"))
    )


def test_a_node_that_is_not_read_does_not_count() -> None:
    assert digest(net(body=f"unread = Tanh(x) {BODY}")) == digest(net())


@given(st.integers(0, 107), st.floats(-1, 1, width=32))
def test_every_weight_counts(index: int, value: float) -> None:
    model, changed = net(), net()
    weights = numpy_helper.to_array(model.graph.initializer[0]).copy()
    same = np.float32(value).tobytes() == weights.ravel()[index].tobytes()
    weights.ravel()[index] = value
    changed.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "w"))
    assert (digest(changed) == digest(model)) == same
