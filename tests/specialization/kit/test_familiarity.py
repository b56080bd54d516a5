"""Where nothing alike was learnt, a network gives the same answer with less confidence."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import numpy_helper

from serving.graphs.quantise import quantised
from serving.graphs.segments import split
from specialization.kit.familiarity import SCALE, SHRINKAGE, Familiarity, certain, doubting, features_of
from tests.serving.graphs.onnx_graphs import classifier, pictures, run

Rows = NDArray[np.float32]
OTHER = 1


def inverse(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    covariance = np.cov(rows.T, bias=True)
    return np.linalg.inv(covariance + SHRINKAGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance)))


def drawn(seed: int, count: int = 200, length: int = 5) -> tuple[Rows, NDArray[np.intp], NDArray[np.bool_]]:
    """Three clouds, some of whose points belong to none."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(count) % 3).astype(np.intp)
    rows = rng.normal(0, 1, (count, length)) * rng.uniform(0.2, 2, length) + 3 * rng.normal(0, 1, (3, length))[classes]
    return rows.astype(np.float32), classes, rng.random(count) < 0.8


@given(st.integers(0, 10_000))
def test_the_distance_is_the_relative_mahalanobis_distance_to_the_nearest_class(seed: int) -> None:
    rows, classes, clear = drawn(seed)
    exact = rows.astype(np.float64)
    means = [exact[clear & (classes == each)].mean(axis=0) for each in range(3)]
    within = inverse(np.concatenate([exact[clear & (classes == each)] - means[each] for each in range(3)]))
    overall, mean = inverse(exact - exact.mean(axis=0)), exact.mean(axis=0)
    wanted = [
        min((row - each) @ within @ (row - each) for each in means) - (row - mean) @ overall @ (row - mean)
        for row in exact[:20]
    ]
    assert Familiarity.of(rows, classes, clear).distance(rows[:20]) == pytest.approx(wanted, rel=1e-2, abs=1e-2)


def test_what_lies_between_the_classes_is_less_familiar_than_what_lies_in_one() -> None:
    rows, classes, clear = drawn(1)
    familiar = Familiarity.of(rows, classes, clear)
    means = np.stack([rows[classes == each].mean(axis=0) for each in range(3)])
    assert familiar.distance(means).max() < familiar.distance(means.mean(axis=0, keepdims=True))[0]


@pytest.fixture(scope="module")
def small() -> tuple[onnx.ModelProto, onnx.ModelProto, NDArray[np.bool_]]:
    """A network, the same with doubts, and which of 300 pictures it does not know."""
    model, items = classifier(), pictures(300)
    body, _ = split(model, [features_of(model)])
    features = run(body, items)
    said = run(model, items).argmax(axis=1)
    familiar = Familiarity.of(features, said, np.ones(len(said), bool))
    distance = familiar.distance(features)
    limit = float(np.median(distance))
    return model, doubting(model, familiar, limit, OTHER), distance > limit


def test_only_unfamiliar_names_lose_confidence(
    small: tuple[onnx.ModelProto, onnx.ModelProto, NDArray[np.bool_]],
) -> None:
    model, doubtful, unfamiliar = small
    plain, found = run(model, pictures(300)), run(doubtful, pictures(300))
    names = plain.argmax(axis=1) != OTHER
    assert 0 < (unfamiliar & names).sum() < (names.sum())
    assert found[unfamiliar & names] == pytest.approx(SCALE * plain[unfamiliar & names], rel=1e-5)
    np.testing.assert_array_equal(found[~(unfamiliar & names)], plain[~(unfamiliar & names)])


def test_doubts_can_be_taken_back(small: tuple[onnx.ModelProto, onnx.ModelProto, NDArray[np.bool_]]) -> None:
    model, doubtful, _ = small
    back = certain(doubtful)
    np.testing.assert_array_equal(run(back, pictures(20)), run(model, pictures(20)))
    assert len(back.graph.node) == len(model.graph.node)
    assert {each.name for each in back.graph.initializer} == {each.name for each in model.graph.initializer}


def test_the_int8_variant_doubts_the_same(small: tuple[onnx.ModelProto, onnx.ModelProto, NDArray[np.bool_]]) -> None:
    """A distance from 8 bits would be another one."""
    _, doubtful, _ = small
    kept = {each.name: numpy_helper.to_array(each) for each in doubtful.graph.initializer if "square" in each.name}
    variant = quantised("m", doubtful, pictures(64))
    weights = {each.name: numpy_helper.to_array(each) for each in variant.graph.initializer}
    (name,) = kept
    np.testing.assert_array_equal(weights[name], kept[name])
