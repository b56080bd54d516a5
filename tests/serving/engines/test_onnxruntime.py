from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from serving.engines import onnxruntime
from serving.engines.onnxruntime import OnnxRuntimeEngine, session_options
from serving.errors import ModelError
from tests.models import save_graph


def test_bf16_is_not_offered() -> None:
    with pytest.raises(ModelError, match=r"^model 'net': ONNX Runtime computes in fp32 or int8; bf16 needs OpenVINO$"):
        OnnxRuntimeEngine("net", threads=1, precision="bf16")


def test_accelerators_come_first_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers that Sluice does not know, such as those that send data to a cloud, are never used."""
    cpu, cuda, tensorrt = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"
    monkeypatch.setattr(ort, "get_available_providers", lambda: [cpu, "AzureExecutionProvider"])
    assert [name for name, _ in onnxruntime.providers("fp32")] == [cpu]
    monkeypatch.setattr(ort, "get_available_providers", lambda: [cpu, "AzureExecutionProvider", cuda, tensorrt])
    assert [name for name, _ in onnxruntime.providers("fp32")] == [tensorrt, cuda, cpu]


def test_weights_stored_as_float16_are_folded_to_float32_once(tmp_path: Path) -> None:
    """The graph that runs holds no cast: such a file is half as large and not slower."""
    weights = np.random.default_rng(0).normal(size=(8, 3, 3, 3)).astype(np.float16)
    nodes = [
        helper.make_node("Cast", ["half"], ["kernel"], to=TensorProto.FLOAT),
        helper.make_node("Conv", ["images", "kernel"], ["maps"]),
    ]
    path, optimised = tmp_path / "half.onnx", tmp_path / "optimised.onnx"
    save_graph(path, nodes, {"maps": ["N", 8, 2, 2]}, constants={"half": weights})
    options = session_options(1)
    options.optimized_model_filepath = str(optimised)
    ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    graph = onnx.load(optimised).graph
    assert "Cast" not in [node.op_type for node in graph.node]
    assert {numpy_helper.to_array(each).dtype.name for each in graph.initializer if len(each.dims) > 2} == {"float32"}
