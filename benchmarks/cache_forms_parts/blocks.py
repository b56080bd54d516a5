"""ResNet-18 for CIFAR-10 in PyTorch: what leaves each of its eight blocks, whole, and the time until there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.caches_images_parts.cases import NAME
from benchmarks.segments import WEIGHTS
from serving.common.tensors import Array
from tools.architectures.registry import find, load_weights

BLOCKS = 8
STEP = 50
TIMED = 30


@dataclass(frozen=True)
class Outputs:
    """N inputs that went through the network."""

    features: Mapping[int, Tensor]
    """By block, N × C × H × W, 16 bit."""
    logits: Tensor
    """N × classes."""

    @property
    def words(self) -> Tensor:
        """N: the classes that the network says."""
        return self.logits.argmax(dim=1)

    def rows(self, chosen: slice) -> Outputs:
        return Outputs({block: each[chosen] for block, each in self.features.items()}, self.logits[chosen])


class Blocks:
    """The network, one block at a time."""

    def __init__(self) -> None:
        large = find(NAME)
        self._network = large.build(large.classes)
        load_weights(self._network, WEIGHTS / "resnet18_cifar10.safetensors")
        self._network.eval()
        layers = [getattr(self._network, f"layer{number}") for number in range(1, 5)]
        self._blocks: list[nn.Module] = [block for layer in layers for block in layer]

    @torch.no_grad()
    def outputs(self, items: Array, blocks: Sequence[int]) -> Outputs:
        """N × 3 × 32 × 32, as the network takes them."""
        kept: dict[int, list[Tensor]] = {block: [] for block in blocks}
        logits = []
        for at in range(0, len(items), STEP):
            *inside, last = self._steps(torch.from_numpy(items[at : at + STEP]))
            for block in blocks:
                kept[block].append(inside[block].half())
            logits.append(last)
        return Outputs({block: torch.cat(each) for block, each in kept.items()}, torch.cat(logits))

    @torch.no_grad()
    def until_s(self, batch: int) -> list[float]:
        """Median processor seconds of a batch until each block's end, then until the network's."""
        found = []
        for _ in range(TIMED):
            started_s, mine = time.process_time(), list[float]()
            for _ in self._steps(torch.zeros(batch, 3, 32, 32)):
                mine.append(time.process_time() - started_s)
            found.append(mine)
        return [median(each) for each in zip(*found, strict=True)][1:]

    def _steps(self, x: Tensor) -> Iterator[Tensor]:
        """What the stem gives, each block, and at last the logits."""
        part = self._network.get_submodule
        x = functional.relu(part("bn1")(part("conv1")(x)))
        yield x
        for block in self._blocks:
            x = block(x)
            yield x
        yield part("fc")(x.mean((2, 3)))
