from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from serving.graphs.factorise import factorised, factors, saves
from tests.serving.graphs.onnx_graphs import Array, classifier, graph, in_half_precision, pictures, run


def low_rank(rng: np.random.Generator, rows: int, columns: int, rank: int) -> Array:
    return (rng.normal(0, 1, (rows, rank)) @ rng.normal(0, 1, (rank, columns))).astype(np.float32)


matrices = st.tuples(st.integers(2, 12), st.integers(2, 12), st.integers(0, 999)).map(
    lambda drawn: np.random.default_rng(drawn[2]).normal(0, 1, drawn[:2]).astype(np.float32)
)


@given(matrices)
def test_factors_are_exact_at_full_rank_and_no_worse_with_every_rank(matrix: Array) -> None:
    errors = []
    for rank in range(1, min(matrix.shape) + 1):
        outer, inner = factors(matrix, rank)
        assert outer.shape == (len(matrix), rank)
        assert inner.shape == (rank, matrix.shape[1])
        errors.append(float(np.linalg.norm(outer @ inner - matrix)))
    assert errors[-1] == pytest.approx(0.0, abs=1e-4)
    assert all(after <= before + 1e-4 for before, after in pairwise(errors))


def test_the_error_is_that_of_the_best_approximation() -> None:
    matrix = np.random.default_rng(0).normal(0, 1, (9, 7)).astype(np.float32)
    outer, inner = factors(matrix, 3)
    left_out = np.linalg.svd(matrix, compute_uv=False)[3:]
    assert np.linalg.norm(outer @ inner - matrix) == pytest.approx(np.linalg.norm(left_out), rel=1e-4)


@pytest.mark.parametrize(("shape", "rank", "less"), [((8, 8), 4, False), ((8, 8), 3, True), ((64, 576), 32, True)])
def test_what_saves_multiply_adds(shape: tuple[int, int], rank: int, less: bool) -> None:
    assert saves(shape, rank) is less


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        ({"pads": [1, 1, 1, 1], "strides": [2, 2]}, (3, 3)),
        ({}, (1, 1)),
        ({"dilations": [2, 2], "pads": [2, 2, 2, 2]}, (3, 3)),
        ({"pads": [0, 1, 2, 0]}, (3, 2)),
    ],
)
def test_a_convolution_of_low_rank_stays_what_it_was(options: dict[str, Any], kernel: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    weights = {"w": low_rank(rng, 32, 3 * kernel[0] * kernel[1], 2).reshape(32, 3, *kernel)}
    weights["b"] = rng.normal(0, 1, 32).astype(np.float32)
    node = helper.make_node("Conv", ["images", "w", "b"], ["y"], kernel_shape=list(kernel), **options)
    model = graph([node], weights, ["N", 3, 8, 8], "y")
    thin = factorised(model, 16)
    assert [node.op_type for node in thin.graph.node] == ["Conv", "Conv"]
    np.testing.assert_allclose(run(thin, pictures(2)), run(model, pictures(2)), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("options", [{"transB": 1}, {"transB": 0}, {"transB": 1, "alpha": 0.5, "beta": 2.0}])
def test_a_gemm_of_low_rank_stays_what_it_was(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    matrix = low_rank(rng, 24, 3 * 8 * 8, 3)
    weights = {"w": matrix if options["transB"] else matrix.T.copy(), "b": rng.normal(0, 1, 24).astype(np.float32)}
    nodes = [
        helper.make_node("Flatten", ["images"], ["x"]),
        helper.make_node("Gemm", ["x", "w", "b"], ["y"], **options),
    ]
    model = graph(nodes, weights, ["N", 3, 8, 8], "y")
    thin = factorised(model, 8)
    assert [node.op_type for node in thin.graph.node] == ["Flatten", "MatMul", "Gemm"]
    np.testing.assert_allclose(run(thin, pictures(2)), run(model, pictures(2)), rtol=1e-3, atol=1e-3)


def test_a_matmul_of_low_rank_stays_what_it_was() -> None:
    weights = {"w": low_rank(np.random.default_rng(0), 8, 20, 2)}
    node = helper.make_node("MatMul", ["images", "w"], ["y"])
    model = graph([node], weights, ["N", 3, 8, 8], "y")
    thin = factorised(model, 10)
    assert [node.op_type for node in thin.graph.node] == ["MatMul", "MatMul"]
    np.testing.assert_allclose(run(thin, pictures(2)), run(model, pictures(2)), rtol=1e-3, atol=1e-4)


def test_grouped_convolutions_and_small_layers_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(0, 1, (12, 1, 3, 3)).astype(np.float32)}
    node = helper.make_node("Conv", ["images", "w"], ["y"], group=3)
    model = graph([node], weights, ["N", 3, 8, 8], "y")
    assert factorised(model, 4).graph.node == model.graph.node
    untouched = factorised(classifier(width=16), 1)
    assert untouched.graph.node == classifier(width=16).graph.node


def numbers(model: onnx.ModelProto) -> int:
    return sum(int(np.prod(tensor.dims)) for tensor in model.graph.initializer)


def test_smaller_ranks_hold_fewer_numbers_and_are_further_off() -> None:
    model = classifier(width=32)
    thin = [factorised(model, divisor) for divisor in (2, 4, 8)]
    sizes = [numbers(each) for each in [model, *thin]]
    assert sizes == sorted(sizes, reverse=True)
    wanted = run(model, pictures(16))
    errors = [float(np.linalg.norm(run(each, pictures(16)) - wanted)) for each in thin]
    assert errors == sorted(errors)
    assert errors[0] > 0


def test_weights_in_half_precision_are_read() -> None:
    model = classifier(width=32)
    thin = factorised(in_half_precision(model), 2)
    assert not any(node.op_type == "Cast" for node in thin.graph.node)
    np.testing.assert_allclose(run(thin, pictures(4)), run(factorised(model, 2), pictures(4)), rtol=0.02, atol=0.02)
