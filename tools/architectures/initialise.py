"""How fresh networks start."""

from __future__ import annotations

from torch import nn


def initialise(network: nn.Module) -> None:
    """Convolutions as He et al. (2015) for ReLU; linear layers and normalisation keep PyTorch's start."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
