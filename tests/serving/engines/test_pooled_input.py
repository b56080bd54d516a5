from __future__ import annotations

import numpy as np
import onnx
import pytest

from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.engines.pooled_input import with_pooled_input
from tests.serving.graphs.support import network, run, sample

BLOCK = "a = Conv (x, w) b = Relu (a) c = Conv (b, v) d = Add (c, x) y = Relu (d)"
SIZES = {"w": [16, 16, 1, 1], "v": [16, 16, 1, 1]}


def segment(body: str = BLOCK, channels: int = 16) -> onnx.ModelProto:
    sizes = {name: [channels, channels, 1, 1] for name in SIZES}
    return network(f"(float[N,{channels},6,6] x) => (float[N,{channels},6,6] y)", body, **sizes)


def test_a_shortcut_from_the_input_goes_through_the_pooling() -> None:
    model = segment()
    pooled = onnx.load_from_string(with_pooled_input(model.SerializeToString()))
    onnx.checker.check_model(pooled, full_check=True)
    first, *rest = pooled.graph.node
    assert (first.op_type, list(first.input)) == ("MaxPool", ["x"])
    assert not any("x" in node.input for node in rest)
    assert np.array_equal(run(pooled, sample(model))[0], run(model, sample(model))[0])


@pytest.mark.parametrize(
    "model",
    [
        segment("a = Conv (x, w) y = Relu (a)"),
        segment("a = Conv (x, w) b = Conv (x, v) y = Add (a, b)"),
        segment(channels=12),
        network("(float[N,16] x) => (float[N,16] y)", "a = MatMul (x, w) y = Add (a, x)", w=[16, 16]),
        network("(float[N,4] x, float[N,4] z) => (float[N,4] y)", "y = Add (x, z)"),
    ],
    ids=["no shortcut", "a shortcut through a convolution", "never in blocks", "no convolution", "two inputs"],
)
def test_others_stay_as_they_are(model: onnx.ModelProto) -> None:
    assert with_pooled_input(model.SerializeToString()) == model.SerializeToString()


def test_the_engine_says_what_the_segment_says() -> None:
    model = segment()
    engine = OnnxRuntimeEngine("block", threads=1)
    engine.load([model.SerializeToString()])
    assert np.allclose(engine.run(0, sample(model))[0], run(model, sample(model))[0], atol=1e-5)
    engine.close()
