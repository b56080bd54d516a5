"""Predictors of the paper's Table 3, that read all values of an activation, in PyTorch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod
from statistics import median
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from serving.common.tensors import Array

FC, POOL, CONV = "FC(1024)", "Pool(8192)", "Conv(3,1)"
HIDDEN, POOLED, KERNEL = 1024, 8192, 3
CHANNELS = 1
"""The convolution has one: only so do its operations come out as they are printed."""
EPOCHS, BATCH, RATE, DECAY = 5, 64, 0.001, 0.05
SOFT = 0.5
"""Weight of the network's distribution beside its word, in the loss of distillation."""
LOOKUPS, FILLER_BYTES = 30, 16 << 20

Loss = Literal["distilled", "hard"]


@dataclass(frozen=True)
class Predictor:
    """A trained one."""

    block: int
    form: str
    network: nn.Module
    scale: float
    shape: Sequence[int]

    @torch.no_grad()
    def probabilities(self, features: Tensor) -> Array:
        """N × C × H × W → N × classes."""
        parts = [self.network(each.float() * self.scale).softmax(dim=1) for each in torch.split(features, BATCH)]
        found: Array = torch.cat(parts).numpy()
        return found

    @property
    def memory_mb(self) -> float:
        return sum(each.numel() * each.element_size() for each in self.network.parameters()) / 1e6

    @property
    def operations_m(self) -> float:
        """Millions of multiplications and additions as one."""
        channels, rows, columns = self.shape
        if self.form == FC:
            return (prod(self.shape) * HIDDEN + HIDDEN * 10) / 1e6
        if self.form == POOL:
            return (prod(self.shape) + 10 * channels * _side(self.shape) ** 2) / 1e6
        places = (rows - KERNEL + 1) * (columns - KERNEL + 1)
        return CHANNELS * places * (channels * KERNEL**2 + 10) / 1e6

    @torch.no_grad()
    def lookup_s(self) -> float:
        """Median processor seconds for one input, after other work has filled the processor's caches."""
        item, filler, found = torch.zeros(1, *self.shape), np.zeros(FILLER_BYTES, np.uint8), []
        for _ in range(LOOKUPS):
            filler += 1
            started_s = time.process_time()
            self.network(item)
            found.append(time.process_time() - started_s)
        return median(found)


def trained(block: int, form: str, loss: Loss, features: Tensor, logits: Tensor) -> Predictor:
    """Learn to say what the network says of N inputs."""
    torch.manual_seed(block)
    network, scale = _network(form, features.shape[1:], logits.shape[1]), 1 / float(features[:200].float().std())
    words = torch.nn.functional.one_hot(logits.argmax(dim=1), logits.shape[1]).float()
    wanted = words if loss == "hard" else (1 - SOFT) * words + SOFT * logits.softmax(dim=1)
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(features) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
    for _ in range(EPOCHS):
        for rows in torch.split(torch.randperm(len(features)), BATCH):
            error = nn.functional.cross_entropy(network(features[rows].float() * scale), wanted[rows])
            optimiser.zero_grad()
            error.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return Predictor(block, form, network.eval(), scale, features.shape[1:])


def _network(form: str, shape: Sequence[int], classes: int) -> nn.Module:
    channels, rows, columns = shape
    if form == FC:
        return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, classes))
    if form == POOL:
        side = _side(shape)
        return nn.Sequential(nn.AdaptiveAvgPool2d(side), nn.Flatten(), nn.Linear(channels * side**2, classes))
    places = (rows - KERNEL + 1) * (columns - KERNEL + 1)
    convolution = nn.Conv2d(channels, CHANNELS, KERNEL)
    return nn.Sequential(convolution, nn.ReLU(), nn.Flatten(), nn.Linear(CHANNELS * places, classes))


def _side(shape: Sequence[int]) -> int:
    """The sides of the grid to which is pooled."""
    return min(isqrt(POOLED // shape[0]), *shape[1:])
