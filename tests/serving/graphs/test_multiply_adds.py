from __future__ import annotations

import pytest
from onnx import helper

from serving.graphs.cut_points import multiply_adds
from serving.graphs.shapes import tensor_specs
from tests.serving.graphs.support import network


@pytest.mark.parametrize(
    ("body", "size", "weight", "expected"),
    [
        ("y = Conv (x, w)", "4,8,8", [6, 4, 3, 3], 6 * 6 * 6 * 4 * 9),
        ("y = Conv <strides = [2,2], pads = [1,1,1,1]> (x, w)", "4,8,8", [6, 4, 3, 3], 6 * 4 * 4 * 4 * 9),
        ("y = Conv <group = 4> (x, w)", "4,8,8", [8, 1, 3, 3], 8 * 6 * 6 * 9),
        ("y = ConvTranspose <strides = [2,2]> (x, w)", "4,8,8", [4, 6, 2, 2], 4 * 8 * 8 * 6 * 4),
        ("y = Gemm (x, w)", "4", [4, 6], 24),
        ("y = Gemm <transB = 1> (x, w)", "4", [6, 4], 24),
        ("y = MatMul (x, w)", "5,4", [4, 6], 5 * 24),
        ("y = Relu (x)", "4", [1], 0),
        ("y = Conv (x, w)", "4,H,W", [6, 4, 3, 3], 0),
    ],
)
def test_per_item(body: str, size: str, weight: list[int], expected: int) -> None:
    result = ",".join("?" for _ in size.split(","))
    model = network(f"(float[N,{size}] x) => (float[N,{result}] y)", body, w=weight)
    assert multiply_adds(model.graph.node[0], tensor_specs(model, "x")) == expected


def test_a_transposed_left_side_sums_over_its_first_axis() -> None:
    model = network("(float[3,4] x) => (float[4,6] y)", "y = Gemm <transA = 1> (x, w)", w=[3, 6])
    assert multiply_adds(model.graph.node[0], tensor_specs(model, "x")) == 4 * 6 * 3


def test_tensors_of_unknown_shape_count_nothing() -> None:
    assert multiply_adds(helper.make_node("MatMul", ["a", "b"], ["c"]), {}) == 0
