"""The backbone: its start from the detector, its sizes, and a classifier that takes the normalisation in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from onnx import helper

from tools.shipped.darknet import darknet, start_darknet

DARK4, DARK5 = "841", "886"
"""What the detector's file calls the ends of its last two stages."""


def test_sizes() -> None:
    network = darknet(7)
    assert 440_000 < sum(parameter.numel() for parameter in network.parameters()) <= 462_000
    assert network.eval()(torch.zeros(2, 3, 64, 96)).shape == (2, 7)


def test_the_classifier_takes_in_the_normalisation() -> None:
    torch.manual_seed(0)
    network, items = darknet(5), torch.rand(16, 3, 32, 32)
    for _ in range(3):
        network(items)
    with torch.inference_mode():
        before = network.eval()(items)
    assert torch.allclose(network.fold()(items), before, atol=1e-4)
    assert torch.allclose(network.fold()(items), before, atol=1e-4), "folded once"


@pytest.mark.data
def test_it_starts_with_the_maps_of_the_detector(data_dir: Path) -> None:
    file = data_dir / "weights" / "yolox_nano.onnx"
    model = onnx.load(file)
    for name in (DARK4, DARK5):
        model.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    items = np.random.default_rng(0).uniform(0, 1, (1, 3, 416, 416)).astype(np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run([DARK4, DARK5], {session.get_inputs()[0].name: items * 255})
    network = darknet(2)
    start_darknet(network, data_dir)
    with torch.inference_mode():
        middle = network.late.middle(network.early(torch.from_numpy(items)))
        np.testing.assert_allclose(middle.numpy(), wanted[0], atol=1e-3)
        np.testing.assert_allclose(network.late.last(middle).numpy(), wanted[1], atol=1e-3)
