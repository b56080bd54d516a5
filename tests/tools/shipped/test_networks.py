"""The small network that we train from nothing."""

from __future__ import annotations

import torch

from tools.shipped.networks import tiny_resnet


def test_it_is_small_and_takes_any_size() -> None:
    network = tiny_resnet(7)
    assert 95_000 < sum(parameter.numel() for parameter in network.parameters()) <= 100_000
    assert network(torch.zeros(2, 3, 40, 56)).shape == (2, 7)
