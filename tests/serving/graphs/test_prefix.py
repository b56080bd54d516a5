from __future__ import annotations

import onnx
import pytest

from serving.errors import ModelError
from serving.graphs.prefix import common_prefix, digest
from serving.graphs.segments import split
from tests.serving.graphs.support import most_different, network, run, run_segments, sample

WEIGHTS = {"w1": [4, 4], "w2": [4, 4], "w3": [4, 2]}


def net(body: str, names: str = "", seed: int = 0) -> onnx.ModelProto:
    """A network whose tensors ``a``, ``b`` … bear other names where told; each weight depends on the seed only."""
    model = network("(float[N,4] x) => (float[N,2] y)", body, seed=seed, **WEIGHTS)
    for node in model.graph.node:
        for list_ in (node.input, node.output):
            list_[:] = [f"{names}{name}" if name in "abcde" else name for name in list_]
    return model


BODY = "a = MatMul(x, w1) b = Relu(a) c = MatMul(b, w2) d = Relu(c) y = MatMul(d, w3)"


def with_other(model: onnx.ModelProto, weight: str) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    (tensor,) = [each for each in copy.graph.initializer if each.name == weight]
    tensor.raw_data = tensor.raw_data[::-1]
    return copy


def test_networks_that_differ_in_the_last_layer_share_all_before_it() -> None:
    models = [net(BODY), with_other(net(BODY, names="own_"), "w3"), with_other(net(BODY), "w3")]
    cuts = common_prefix(models)
    assert cuts == ["d", "own_d", "d"]
    heads = []
    for model, cut in zip(models, cuts, strict=True):
        prefix, head = split(model, [cut])
        heads.append(head)
        assert digest(prefix) == digest(split(models[0], ["d"])[0])
    # The first network's prefix serves the others' heads.
    (prefix, _), batch = split(models[0], ["d"]), sample(models[0])
    for model, head in zip(models, heads, strict=True):
        assert most_different(run_segments([prefix, head], batch), run(model, batch)) <= 1e-5


def test_the_prefix_ends_where_any_network_differs() -> None:
    assert common_prefix([net(BODY), with_other(net(BODY), "w3"), with_other(net(BODY), "w2")]) == ["b", "b", "b"]
    assert common_prefix([net(BODY), with_other(net(BODY), "w1")]) is None


def test_a_layer_is_not_torn_apart() -> None:
    other = net(BODY.replace("d = Relu(c)", "d = Sigmoid(c)"))
    # The products are the same up to `c`, but no network has a cut point between a layer and its activation.
    assert common_prefix([net(BODY), other]) == ["b", "b"]


def test_networks_that_go_on_in_different_ways_share_the_layer_that_is_one_in_either() -> None:
    longer = net(BODY.replace("c = MatMul(b, w2)", "e = Sigmoid(b) c = MatMul(e, w2)"))
    assert common_prefix([net(BODY), longer]) == ["b", "b"]
    assert common_prefix([longer, net(BODY)]) == ["b", "b"]


def test_equal_networks_share_all_but_their_last_layer() -> None:
    assert common_prefix([net(BODY), net(BODY, names="own_")]) == ["d", "own_d"]
    assert common_prefix([net(BODY)]) == ["d"]


def test_none_have_nothing_in_common() -> None:
    assert common_prefix([]) is None


def test_other_inputs_share_nothing() -> None:
    fixed = net(BODY)
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    assert common_prefix([net(BODY), fixed]) is None
    two = network("(float[N,4] x, float[N,4] z) => (float[N,4] y)", "y = Add(x, z)")
    with pytest.raises(ModelError, match="must have one input"):
        common_prefix([net(BODY), two])
