"""An exported network gives the answers of the original."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper
from torch import nn

from tests.networks import SHALLOW, architecture, shaken
from tools.architectures.export import INPUT, OUTPUT, export, to_onnx
from tools.architectures.registry import ARCHITECTURES
from tools.architectures.resnet import IMAGENET, ResNet, Stem

# Where any size will do, a small one.
SIZES = {name: 16 if "cifar" in name else 40 if "net" in name else ARCHITECTURES[name].size for name in SHALLOW}


Images = NDArray[np.float32]


def _session(model: bytes | str) -> Callable[[Images], Images]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda images: np.asarray(session.run([OUTPUT], {INPUT: images})[0])


def _wanted(network: nn.Module, images: Images) -> Images:
    with torch.inference_mode():
        return np.asarray(network(torch.from_numpy(images)).numpy())


def _images(count: int, size: int) -> Images:
    return np.random.default_rng(0).normal(size=(count, 3, size, size)).astype(np.float32)


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_every_architecture_says_the_same_in_onnx_at_any_batch(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.startswith("vgg"):  # a hundred million parameters less, in layers like any others
        monkeypatch.setattr("tools.architectures.vgg.HIDDEN", 16)
    network = architecture(name)
    model = to_onnx(network, size)
    onnx.checker.check_model(model)
    assert "BatchNormalization" not in {node.op_type for node in model.graph.node}
    images = _images(3, size)
    wanted = _wanted(network, images)
    assert np.ptp(wanted) > 1e-3
    said = _session(model.SerializeToString())
    for count in (1, 3):
        np.testing.assert_allclose(said(images[:count]), wanted[:count], atol=1e-5 * np.abs(wanted).max())


def _network(stem: Stem) -> nn.Module:
    torch.manual_seed(3)
    return shaken(ResNet(4, (2, 2), stem, widths=(8, 12)))


@pytest.mark.parametrize("stem", [IMAGENET, Stem(3, 2, pool=False)])
@pytest.mark.parametrize("count", [1, 3])
def test_half_precision_changes_little(tmp_path: Path, stem: Stem, count: int) -> None:
    path, whole = tmp_path / "model.onnx", tmp_path / "whole.onnx"
    export(_network(stem), path, 32, half=True)
    export(_network(stem), whole, 32)
    images = _images(count, 32)
    wanted = _wanted(_network(stem), images)
    assert np.abs(wanted).max() > 0.05
    np.testing.assert_allclose(_session(str(whole))(images), wanted, atol=1e-5 * np.abs(wanted).max())
    np.testing.assert_allclose(_session(str(path))(images), wanted, atol=5e-3 * np.abs(wanted).max())
    assert path.stat().st_size < 0.7 * whole.stat().st_size


def test_matrices_and_kernels_are_stored_in_half_precision(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export(_network(IMAGENET), path, 32, half=True)
    graph = onnx.load(path).graph
    large = [tensor for tensor in graph.initializer if numpy_helper.to_array(tensor).ndim >= 2]
    assert len(large) == 11
    assert all(tensor.data_type == TensorProto.FLOAT16 for tensor in large)


def test_widths_of_paddings_are_constants_in_the_graph() -> None:
    graph = to_onnx(architecture("cifar-resnet20"), 32).graph
    assert {node.op_type for node in graph.node} == {"Conv", "Relu", "Add", "Slice", "Pad", "ReduceMean", "Gemm"}
