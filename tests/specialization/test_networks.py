"""The architectures: names, sizes, a start from other weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from specialization.networks import ResNet, multiply_adds, resnet18, thin_resnet, tiny_resnet, warm_start


def test_resnet18_has_the_names_of_public_weights() -> None:
    state = resnet18(7).state_dict()
    assert state["conv1.weight"].shape == (64, 3, 7, 7)
    assert state["layer2.0.downsample.0.weight"].shape == (128, 64, 1, 1)
    assert state["layer4.1.bn2.running_mean"].shape == (512,)
    assert state["fc.weight"].shape == (7, 512)
    assert "layer1.0.downsample.0.weight" not in state


@pytest.mark.parametrize(
    ("build", "most_parameters"), [(resnet18, 11_200_000), (thin_resnet, 500_000), (tiny_resnet, 300_000)]
)
def test_sizes(build: Callable[[int], ResNet], most_parameters: int) -> None:
    network = build(7)
    assert sum(parameter.numel() for parameter in network.parameters()) <= most_parameters
    assert network(torch.zeros(2, 3, 40, 56)).shape == (2, 7)


def test_multiply_adds_counts_convolutions_and_the_classifier() -> None:
    network = ResNet(classes=5, widths=(4,), blocks=1, wide_stem=False)
    stem = 4 * 3 * 9 * 8 * 8
    block = 2 * 4 * 4 * 9 * 8 * 8
    assert multiply_adds(network, 16) == stem + block + 4 * 5


def test_warm_start_takes_all_but_the_classifier_and_stretches_the_stem(tmp_path: Path) -> None:
    source = ResNet(classes=10, widths=(4, 8), blocks=1, wide_stem=False)
    path = tmp_path / "weights.safetensors"
    save_file({name: tensor.half() for name, tensor in source.state_dict().items()}, path)
    network = ResNet(classes=3, widths=(4, 8), blocks=1, wide_stem=True)
    untouched = network.fc.weight.clone()
    warm_start(network, path)
    weights = network.state_dict()
    torch.testing.assert_close(
        weights["layer2.0.conv1.weight"], source.state_dict()["layer2.0.conv1.weight"], atol=1e-3, rtol=1e-3
    )
    assert torch.equal(network.fc.weight, untouched)
    corner = source.conv1.weight[:, :, 0, 0] * 9 / 49
    torch.testing.assert_close(network.conv1.weight[:, :, 0, 0], corner, atol=1e-3, rtol=1e-3)
