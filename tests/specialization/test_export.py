"""What is exported says what the network said, in half the space."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from onnx import TensorProto, numpy_helper
from torch import nn

from specialization.export import INPUT, OUTPUT, export
from specialization.networks import ResNet


def _network(wide_stem: bool) -> ResNet:
    torch.manual_seed(3)
    network = ResNet(classes=4, widths=(8, 12), blocks=2, wide_stem=wide_stem)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.running_mean)  # type: ignore[arg-type]
    return network.eval()


@pytest.mark.parametrize("wide_stem", [True, False])
@pytest.mark.parametrize("count", [1, 3])
def test_the_graph_agrees_with_the_network(tmp_path: Path, wide_stem: bool, count: int) -> None:
    network = _network(wide_stem)
    path = tmp_path / "model.onnx"
    export(network, 32, path)
    images = np.random.default_rng(0).normal(size=(count, 3, 32, 32)).astype(np.float32)
    (said,) = ort.InferenceSession(path).run([OUTPUT], {INPUT: images})
    with torch.inference_mode():
        wanted = network(torch.from_numpy(images)).numpy()
    assert np.abs(wanted).max() > 0.05
    np.testing.assert_allclose(said, wanted, atol=5e-3 * np.abs(wanted).max())


def test_matrices_and_kernels_are_stored_in_half_precision_and_normalisation_is_folded(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export(_network(wide_stem=False), 32, path)
    graph = onnx.load(path).graph
    large = [tensor for tensor in graph.initializer if numpy_helper.to_array(tensor).ndim >= 2]
    assert len(large) == 11
    assert all(tensor.data_type == TensorProto.FLOAT16 for tensor in large)
    assert "BatchNormalization" not in {node.op_type for node in graph.node}
