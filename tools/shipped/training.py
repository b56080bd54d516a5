"""The training of small networks from nothing, and what it needs to know of a network's input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from serving.catalogue.cards import ImageInput
from serving.common.tensors import Image
from serving.preprocess import batch
from tools.shipped.augment import augment
from tools.shipped.samples import Samples

Change = Callable[[Image, Generator], Image]
"""How a picture is varied each time it is seen."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn; the rate rises for a tenth of the steps, then falls as a cosine."""

    steps: int
    rate: float = 0.05
    batch: int = 64
    weight_decay: float = 5e-4
    smoothing: float = 0.05
    report_every: int = 50


def fit(
    network: nn.Module,
    size: ImageInput,
    samples: Samples,
    schedule: Schedule,
    rng: Generator,
    change: Change = augment,
) -> None:
    """Train in place on samples drawn by their chances and changed."""
    optimiser = torch.optim.SGD(
        network.parameters(), schedule.rate, momentum=0.9, weight_decay=schedule.weight_decay, nesterov=True
    )
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: pace(step / schedule.steps))
    network.to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    running = 0.0
    for step, (images, targets) in enumerate(_batches(samples, schedule, rng, change), start=1):
        loss = functional.cross_entropy(network(to_tensor(size, images)), torch.from_numpy(targets))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        falling.step()
        running += loss.item()
        if step % schedule.report_every == 0:
            print(f"  step {step}/{schedule.steps}  loss {running / schedule.report_every:.3f}", flush=True)
            running = 0.0


def to_tensor(size: ImageInput, images: Sequence[Image]) -> Tensor:
    """The very preprocessing that serves, so that the network meets nothing new there."""
    return torch.from_numpy(batch(size, images)[0]).to(memory_format=torch.channels_last)


def pace(progress: float) -> float:
    """The share of the rate at a share of the steps."""
    warm = 0.1
    if progress < warm:
        return progress / warm + 0.01
    return 0.5 * (1 + math.cos(math.pi * (progress - warm) / (1 - warm)))


def _batches(
    samples: Samples, schedule: Schedule, rng: Generator, change: Change
) -> Iterator[tuple[list[Image], NDArray[np.float32]]]:
    """``schedule.steps`` times changed pictures and their smoothed targets."""
    for _ in range(schedule.steps):
        chosen = rng.choice(len(samples), schedule.batch, p=samples.chances)
        targets = samples.targets[chosen]
        smoothed = targets * (1 - schedule.smoothing) + schedule.smoothing / targets.shape[1]
        yield [change(samples.images[i], rng) for i in chosen], smoothed.astype(np.float32)
