from __future__ import annotations

import onnxruntime as ort
import pytest

from serving.engines import onnxruntime
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import ModelError


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
