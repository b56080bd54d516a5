"""Segments that are cut out of the optimised network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from benchmarks.weg_parts.train_plates import MODELS
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.onnxruntime import OnnxRuntimeEngine, optimised_segments
from serving.graphs.cut_points import cut_points
from serving.graphs.fold import is_exact
from serving.graphs.segments import split


def shipped(name: str) -> onnx.ModelProto:
    return onnx.load(Catalogue([SHIPPED]).find(name).path)


def pixels(model: onnx.ModelProto, items: int = 2) -> Array:
    dims = model.graph.input[0].type.tensor_type.shape.dim
    shape = [items, *(dim.dim_value for dim in dims[1:])]
    return np.random.default_rng(0).random(shape, np.float32)


def in_bytes(models: Sequence[onnx.ModelProto]) -> list[bytes]:
    return [model.SerializeToString() for model in models]


def run(segments: Sequence[bytes], batch: Array) -> list[Array]:
    """All answers: what segments give besides what they hand over, then what the last one gives."""
    engine = OnnxRuntimeEngine("net", threads=1)
    engine.load(segments)
    answers = []
    for index in range(len(segments)):
        batch, *more = engine.run(index, batch)
        answers += more
    engine.close()
    return [*answers, batch]


@pytest.mark.parametrize("name", ["street-kind", "vehicle-type-compact"])
def test_the_answers_are_bit_for_bit_those_of_the_whole(name: str) -> None:
    model = shipped(name)
    segments = in_bytes(split(model, [point.tensor for point in cut_points(model)][::2]))
    assert optimised_segments(segments) is not None
    (cut,), (whole,) = run(segments, pixels(model)), run(in_bytes([model]), pixels(model))
    np.testing.assert_array_equal(cut, whole)


def test_what_is_handed_over_is_not_rearranged() -> None:
    """No segment but the first and the last puts data into the runtime's order, or back."""
    model = onnx.load(MODELS / "plates" / "model.onnx")
    segments = optimised_segments(in_bytes(split(model, [point.tensor for point in cut_points(model)][2:8:2])))
    assert segments is not None
    nodes = [onnx.load_from_string(each).graph.node for each in segments]
    kinds = [{node.op_type for node in some if not is_exact(node)} for some in nodes]
    if not any("ReorderOutput" in kind for kind in kinds):
        pytest.skip("this processor's runtime keeps no blocks of channels")
    assert all(not kind & {"ReorderInput", "ReorderOutput"} for kind in kinds[1:-1])
    assert all("Add" not in kind and "Relu" not in kind for kind in kinds)


def test_an_answer_on_the_way_is_given_as_before() -> None:
    """As a head's at a cut point: here the mean over the plane."""
    model = shipped("street-kind")
    places = [point.tensor for point in cut_points(model)][1:5:2]
    pieces = split(model, places)
    head = helper.make_node("GlobalAveragePool", [places[0]], ["head"])
    pieces[0].graph.node.append(head)
    pieces[0].graph.output.append(helper.make_tensor_value_info("head", TensorProto.FLOAT, ["N", 12, 1, 1]))
    segments = in_bytes(pieces)
    assert optimised_segments(segments) is not None
    mean, scores = run(segments, pixels(model))
    plain = in_bytes(split(model, places))
    (whole,) = run(in_bytes([model]), pixels(model))
    np.testing.assert_array_equal(scores, whole)
    engine = OnnxRuntimeEngine("net", threads=1)
    engine.load(plain[:1])
    tensor = engine.run(0, pixels(model))[0]
    np.testing.assert_allclose(mean[..., 0, 0], tensor.mean(axis=(2, 3)), rtol=1e-5)


def test_a_detector_with_branches_is_cut_too(data_dir: Path) -> None:
    model = onnx.load(data_dir / "weights" / "yolox_nano.onnx")
    places = [point.tensor for point in cut_points(model)][::4]
    segments = in_bytes(split(model, places))
    assert optimised_segments(segments) is not None
    (cut,), (whole,) = run(segments, pixels(model, 1)), run(in_bytes([model]), pixels(model, 1))
    np.testing.assert_array_equal(cut, whole)


def test_where_sizes_are_open_segments_stay_as_they_are() -> None:
    model = shipped("street-kind")
    segments = split(model, [cut_points(model)[2].tensor])
    for dim in list(segments[0].graph.input[0].type.tensor_type.shape.dim)[2:]:
        dim.ClearField("dim_value")
        dim.dim_param = "any"
    assert optimised_segments(in_bytes(segments)) is None


def test_places_that_optimising_merges_are_not_guessed() -> None:
    """A convolution and its activation are one when optimised: no place is left between them."""
    model = shipped("street-kind")
    relu = next(node for node in model.graph.node if node.op_type == "Relu")
    segments = in_bytes(split(model, [relu.input[0], relu.output[0]]))
    assert optimised_segments(segments) is None
    (cut,), (whole,) = run(segments, pixels(model)), run(in_bytes([model]), pixels(model))
    np.testing.assert_allclose(cut, whole, atol=1e-5)
