from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from serving.errors import ModelError
from serving.graphs.quantise import quantised
from serving.profiling.agreement import same_class
from tests.serving.graphs.onnx_graphs import classifier, in_half_precision, pictures, run


def weights(model: onnx.ModelProto) -> list[np.ndarray]:
    """The 8-bit kernels and matrices."""
    tensors = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    return [tensor for tensor in tensors if tensor.dtype == np.int8 and tensor.ndim > 1]


def test_int8_gives_nearly_the_same_answers() -> None:
    model, items = classifier(), pictures(200)
    small = quantised("m", model, items[:64])
    wanted, found = run(model, items[64:]), run(small, items[64:])
    assert same_class([wanted], [found]).mean() > 0.9
    assert np.abs(found - wanted).max() < 0.1 * np.abs(wanted).max()
    assert not np.array_equal(found, wanted)


def test_weights_are_7_bits_with_a_scale_per_channel() -> None:
    small = quantised("m", classifier(), pictures(16))
    assert len(weights(small)) == 3
    assert all(np.abs(tensor).max() <= 64 for tensor in weights(small))
    scales = [
        tensor for tensor in small.graph.initializer if tensor.name.endswith("_scale") and list(tensor.dims) == [16]
    ]
    assert len(scales) >= 2
    kinds = Counter(node.op_type for node in small.graph.node)
    assert kinds["QuantizeLinear"]
    assert kinds["DequantizeLinear"] > kinds["QuantizeLinear"]


def test_input_and_output_keep_name_and_type() -> None:
    small = quantised("m", classifier(), pictures(16))
    assert [value.name for value in [*small.graph.input, *small.graph.output]] == ["images", "logits"]
    assert run(small, pictures(5)).shape == (5, 3)
    assert run(small, pictures(5)).dtype == np.float32


@pytest.mark.parametrize("changes", [{"batch": 1}, {"opset": 11}])
def test_fixed_batches_and_old_operators(changes: dict[str, int]) -> None:
    model = classifier(**changes)  # type: ignore[arg-type]
    small = quantised("m", model, pictures(20))
    item = pictures(1, seed=7)
    assert np.abs(run(small, item) - run(model, item)).max() < 0.1


def test_weights_in_half_precision_become_int8() -> None:
    model = in_half_precision(classifier())
    assert len(weights(quantised("m", model, pictures(16)))) == 3


def test_no_pictures_is_one_line() -> None:
    with pytest.raises(ModelError, match="model 'm': int8 needs pictures"):
        quantised("m", classifier(), pictures(0))


def test_what_the_tool_refuses_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ModelError, match="model 'm' cannot be quantised: ") as caught:
        quantised("m", classifier(), pictures(4, side=9)[:, :2])
    assert "\n" not in str(caught.value)
    assert caplog.records == []
