"""The networks we train: sizes, a start from other weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from serving.architectures.resnet import CIFAR, IMAGENET, ResNet, resnet18
from specialization.shipped.networks import thin_resnet, tiny_resnet, warm_start


@pytest.mark.parametrize(
    ("build", "most_parameters"), [(resnet18, 11_200_000), (thin_resnet, 442_000), (tiny_resnet, 100_000)]
)
def test_sizes(build: Callable[[int], ResNet], most_parameters: int) -> None:
    network = build(7)
    assert 0.95 * most_parameters < sum(parameter.numel() for parameter in network.parameters()) <= most_parameters
    assert network(torch.zeros(2, 3, 40, 56)).shape == (2, 7)


def test_warm_start_takes_all_but_the_classifier_and_stretches_the_stem(tmp_path: Path) -> None:
    source = ResNet(10, (1, 1), CIFAR, widths=(4, 8))
    path = tmp_path / "weights.safetensors"
    save_file({name: tensor.half() for name, tensor in source.state_dict().items()}, path)
    network = ResNet(3, (1, 1), IMAGENET, widths=(4, 8))
    untouched = network.fc.weight.clone()
    warm_start(network, path)
    weights = network.state_dict()
    torch.testing.assert_close(
        weights["layer2.0.conv1.weight"], source.state_dict()["layer2.0.conv1.weight"], atol=1e-3, rtol=1e-3
    )
    assert torch.equal(network.fc.weight, untouched)
    corner = source.conv1.weight[:, :, 0, 0] * 9 / 49
    torch.testing.assert_close(network.conv1.weight[:, :, 0, 0], corner, atol=1e-3, rtol=1e-3)


@pytest.mark.data
def test_resnet18_starts_from_the_weights_it_ships_from(data_dir: Path) -> None:
    network = resnet18(7)
    warm_start(network, data_dir / "weights" / "resnet18_cifar10.safetensors")
    # Trained statistics, in every stage, where a fresh network has zeros.
    means = [buffer for name, buffer in network.named_buffers() if name.endswith("running_mean")]
    assert len(means) == 20
    assert all(mean.abs().max() > 0.01 for mean in means)
