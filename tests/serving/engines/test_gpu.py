"""Networks on a real GPU; skipped where there is none. Where there is one, the other tests here run on it too."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest

from serving.common.precision import Precision
from serving.common.tensors import Array
from serving.engines.execution_device import CHOICE, gpu_name, used_bytes, why_no_gpu
from serving.engines.exit_network import ExitNetwork
from serving.engines.gpu_activations import GpuActivations
from serving.engines.gpu_segment import GpuSegment
from serving.engines.groups import GroupRequest
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.quantise import in_half_precision
from serving.graphs.taps import tapped
from tests.serving.engines.cut_rows import cuts, network, points

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no GPU: {why_no_gpu()}")


def engine(model: onnx.ModelProto, precision: Precision = "fp32") -> OnnxRuntimeEngine:
    made = OnnxRuntimeEngine("kind", threads=1, precision=precision)
    made.load([model.SerializeToString()])
    return made


def items(count: int) -> Array:
    shape = [dim.dim_value for dim in network().graph.input[0].type.tensor_type.shape.dim[1:]]
    return np.random.default_rng(count).random((count, *shape), np.float32)


@pytest.fixture(scope="module")
def expected() -> Array:
    """The scores of 40 items by the processor."""
    CHOICE.wanted = "cpu"
    try:
        return engine(network()).run(0, items(40))[0]
    finally:
        CHOICE.wanted = "auto"


def test_padded_batches_of_any_size_give_what_the_processor_gives(expected: Array) -> None:
    made = engine(network())
    (segment,) = made.gpu_segments()
    assert segment.records, "the work of a network of convolutions is recorded"
    for count in (1, 2, 3, 7, 16, 33, 40, 5, 1):
        (scores,) = made.run(0, items(40)[:count])
        np.testing.assert_allclose(scores, expected[:count], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("precision", ["tf32", "fp16"])
def test_fewer_bits_name_the_same_classes(precision: Precision, expected: Array) -> None:
    model = in_half_precision("kind", network()) if precision == "fp16" else network()
    (scores,) = engine(model, precision).run(0, items(40))
    assert scores.dtype == np.float32
    assert (scores.argmax(axis=1) == expected.argmax(axis=1)).mean() >= 0.95
    assert np.abs(scores - expected).max() <= 0.02 * np.abs(expected).max()


def test_activations_of_a_cut_network_stay_on_the_gpu(expected: Array) -> None:
    cut = ExitNetwork("kind", tapped(network(), points()), cuts(), OnnxRuntimeEngine("kind", threads=1), 64)
    assert isinstance(cut._activations, GpuActivations)
    for count in (1, 6, 40):
        (outputs,) = cut.run([GroupRequest("kind", items(40)[:count])], 64)
        np.testing.assert_allclose(outputs[0], expected[:count], rtol=1e-3, atol=1e-4)
    cut.close()


def test_memory_is_the_gpus_and_is_given_back() -> None:
    engine(network()).close()  # what a process takes once
    left = []
    for _ in range(10):  # others may use the GPU meanwhile
        before = used_bytes()
        made = engine(network())
        assert before is not None
        assert made.memory_bytes() >= len(network().SerializeToString())
        made.close()
        left.append((used_bytes() or 0) - before)
    assert min(left) <= 32 << 20
    assert gpu_name()


def test_threads_run_networks_while_others_are_loaded(expected: Array) -> None:
    shared, loaded, turns = engine(network()), threading.Event(), []

    def run() -> None:
        while not loaded.is_set() or len(turns) < 8:
            for count in (1, 3, 16, 40):
                (scores,) = shared.run(0, items(40)[:count])
                np.testing.assert_allclose(scores, expected[:count], rtol=1e-3, atol=1e-4)
            turns.append(count)

    def load() -> None:
        for _ in range(4):
            made = engine(network())
            (scores,) = made.run(0, items(40)[:7])
            np.testing.assert_allclose(scores, expected[:7], rtol=1e-3, atol=1e-4)
            made.close()

    with ThreadPoolExecutor(4) as threads:
        running, loading = [threads.submit(run) for _ in range(2)], [threads.submit(load) for _ in range(2)]
        try:
            for each in loading:
                each.result()
        finally:
            loaded.set()
        for each in running:
            each.result()


def test_a_network_whose_shapes_depend_on_the_data_is_not_sized() -> None:
    helper, kinds = onnx.helper, onnx.TensorProto
    given = helper.make_tensor_value_info("x", kinds.FLOAT, ["N", 4])
    found = helper.make_tensor_value_info("places", kinds.INT64, ["found", 2])
    nodes = [helper.make_node("NonZero", ["x"], ["pairs"]), helper.make_node("Transpose", ["pairs"], ["places"])]
    model = helper.make_model(
        helper.make_graph(nodes, "nonzero", [given], [found]), opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    made = OnnxRuntimeEngine("nonzero", threads=1)
    segment = made._open(model.SerializeToString())
    row = np.float32([[0, 1, 0, 2]])
    for _ in range(2):
        assert segment.run(row)[0].tolist() == [[0, 1], [0, 3]]
    assert not isinstance(segment, GpuSegment) or not segment.is_sized
