"""The networks that ship, public ones, and every architecture: their cut points, and that segments compose."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

from serving.catalogue.lookup import SHIPPED
from serving.graphs.cut_points import CutPoint, all_cut_points, cut_points
from serving.graphs.prefix import digest
from serving.graphs.segments import split
from tests.networks import SHALLOW
from tests.serving.graphs.support import most_different, run, run_segments, sample
from tools.architectures.export import to_onnx
from tools.architectures.registry import ARCHITECTURES, multiply_adds

LARGE = {"o1": 227, "o2": 227, "s1": 227, "s2": 227, "f1": 152, "f2": 152}
"""Input sizes of networks that cannot do with 32 pixels."""


def assert_segments_compose(model: onnx.ModelProto, cuts: Sequence[CutPoint]) -> None:
    batch = sample(model)
    segments = split(model, [point.tensor for point in cuts])
    assert most_different(run_segments(segments, batch), run(model, batch)) <= 1e-5


def small_network(name: str) -> tuple[nn.Module, int]:
    """An architecture with random weights in all its parts and a narrow classifier, and its input size."""
    torch.manual_seed(0)
    network, size = ARCHITECTURES[name].build(10), LARGE.get(name, 32)
    if name.startswith("vgg"):
        network.avgpool = nn.Identity()
        network.classifier = narrow(network.classifier, inputs=512)
    elif name in LARGE:
        network.classifier = narrow(network.classifier, network.classifier[0].in_features)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            # Fresh residual blocks are multiplied by 0: they would hide what is wrong in them.
            nn.init.uniform_(module.weight, 0.5, 1.0)
    return network.eval(), size


def narrow(classifier: nn.Sequential, inputs: int) -> nn.Sequential:
    """The same layers with 16 values between them in place of thousands."""
    sizes = pairwise([inputs, *[16] * (sum(isinstance(layer, nn.Linear) for layer in classifier) - 1), 10])
    return nn.Sequential(*(nn.Linear(*next(sizes)) if isinstance(layer, nn.Linear) else layer for layer in classifier))


def exported(name: str) -> onnx.ModelProto:
    return to_onnx(*small_network(name))


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*/*.onnx")), ids=lambda path: path.parent.name)
def test_shipped_networks(path: Path) -> None:
    model = onnx.load(path)
    assert_segments_compose(model, cut_points(model))
    assert_segments_compose(model, all_cut_points(model))


@pytest.mark.parametrize("name", SHALLOW)
def test_architectures(name: str) -> None:
    network, size = small_network(name)
    model = to_onnx(network, size)
    assert_segments_compose(model, all_cut_points(model))
    last = cut_points(model)[-1]
    assert round(last.flops / last.share) == multiply_adds(network, size)


def test_a_detector_of_many_branches_can_be_cut_in_its_stem_only(data_dir: Path) -> None:
    model = onnx.load(data_dir / "weights" / "yolox_nano.onnx")
    points = cut_points(model)
    assert [point.tensor for point in points] == ["687", "691", "695", "717", "721", "725", "729", "777", "781"]
    assert points[-1].shape == (1, 64, 52, 52)
    assert 0.25 < points[-1].share < 0.35
    assert_segments_compose(model, cut_points(model))


def test_weights_in_a_file_beside_the_graph(data_dir: Path) -> None:
    model = onnx.load(data_dir / "weights" / "mobilefacenet" / "MobileFaceNet.onnx")
    assert len(cut_points(model)) == 26
    assert_segments_compose(model, cut_points(model))


def test_cuts_lie_between_residual_blocks_and_behind_every_layer_of_vgg() -> None:
    """Dai et al., 2024 [Apparate], figure 8."""
    points = [point.tensor for point in cut_points(exported("resnet18-cifar"))]
    blocks = [f"/layer{stage}/layer{stage}.{block}/Relu_1_output_0" for stage in range(1, 5) for block in range(2)]
    assert points == ["/Relu_output_0", *blocks, "/ReduceMean_output_0"]

    points = [point.tensor for point in cut_points(exported("vgg11"))]
    layers = [
        f"/features/features.{index}/{'MaxPool' if isinstance(layer, nn.MaxPool2d) else 'Relu'}_output_0"
        for index, layer in enumerate(small_network("vgg11")[0].features)
        if isinstance(layer, nn.MaxPool2d | nn.ReLU)
    ]
    assert points == [*layers, "/classifier/classifier.1/Relu_output_0", "/classifier/classifier.4/Relu_output_0"]


def test_an_export_of_the_same_weights_has_the_same_digest() -> None:
    network, size = small_network("cifar-resnet20")
    assert digest(to_onnx(network, size)) == digest(exported("cifar-resnet20"))
    nn.init.zeros_(network.get_parameter("layer1.0.conv1.weight"))
    assert digest(to_onnx(network, size)) != digest(exported("cifar-resnet20"))
