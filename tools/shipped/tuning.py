"""The training of a network that begins with another's weights, some layers of which may stay.

It happens on a GPU where there is one. It learns from labels, some of which are wrong, or what another network, its
teacher, says of the same pictures. That, and what the layers that stay make of a picture, is computed once. What is
left in the end is the running mean of the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from serving.catalogue.cards import ImageInput
from serving.common.tensors import Image
from tools.shipped.augment import augment
from tools.shipped.samples import Samples
from tools.shipped.training import Change, Schedule, pace, to_tensor

Batch = tuple[Tensor, Tensor]
"""N items, and N × classes: 0 and 1, what each may be called, or the teacher's logits."""
Loss = Callable[[Tensor, Tensor], Tensor]
"""What N × classes logits cost, by what was to be learnt."""
Teacher = Callable[[Sequence[Image]], NDArray[np.float32]]
"""N pictures → N × classes logits."""
FASTER = 4
"""Times the rate for linear layers, which start from nothing."""
TRUST = 0.3
"""From 0, cross entropy, to 1, the share that is wrong."""
STEEPEST = 2.0
"""The norm that gradients are cut to."""
SOFTER = 2.0
"""The temperature at which a network is compared with its teacher (Hinton et al., 2015)."""
AT_ONCE = 64
"""Pictures that are looked at together."""
KEPT = 0.998
"""Share of the running mean of the weights that stays at a step; less at first."""
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def tune(network: nn.Module, batches: Iterable[Batch], schedule: Schedule, loss_of: Loss) -> None:
    """Train in place on ``schedule.steps`` batches, in half of the bits on a GPU; it is on the processor afterwards."""
    network.to(DEVICE, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(_rates(network, schedule.rate), weight_decay=schedule.weight_decay)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: pace(step / schedule.steps))
    mean = AveragedModel(network, multi_avg_fn=_follow, use_buffers=True)
    running = torch.zeros((), device=DEVICE)
    for step, (items, wanted) in enumerate(islice(batches, schedule.steps), start=1):
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=DEVICE.type == "cuda"):
            logits = network(items.to(DEVICE))
        loss = loss_of(logits.float(), wanted.to(DEVICE))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(network.parameters(), STEEPEST)
        optimiser.step()
        falling.step()
        mean.update_parameters(network)
        running += loss.detach()
        if step % schedule.report_every == 0:
            print(f"  step {step}/{schedule.steps}  loss {float(running) / schedule.report_every:.3f}", flush=True)
            running.zero_()
    network.load_state_dict(mean.module.state_dict())
    network.to("cpu").eval()


def mirrored(batches: Iterable[Batch], rng: Generator) -> Iterator[Batch]:
    """Half of the pictures the other way round."""
    for items, wanted in batches:
        turned = torch.from_numpy(rng.random(len(items)) < 0.5)
        yield torch.where(turned[:, None, None, None], items.flip(3), items), wanted


@dataclass(frozen=True)
class Looks:
    """What the part of a network that stays makes of pictures, each drawn and changed once; if none stays, these."""

    maps: Tensor
    """N × …, in half precision."""
    drawn: NDArray[np.intp]
    """N: which picture each is of."""
    samples: Samples
    taught: Tensor | None = None
    """N × classes: what the teacher says of them; None: labels say it."""

    def batches(self, samples: Samples, count: int, rng: Generator) -> Iterator[Batch]:
        """Batches without end, drawn by the chances of ``samples``: the same pictures, some of them never drawn."""
        weights = (samples.chances / np.maximum(self.samples.chances, np.finfo(float).tiny))[self.drawn]
        labels = torch.from_numpy(np.ceil(self.samples.targets[self.drawn]))
        wanted = labels if self.taught is None else self.taught
        while True:
            chosen = torch.from_numpy(rng.choice(len(weights), count, p=weights / weights.sum()))
            yield self.maps[chosen].float().contiguous(memory_format=torch.channels_last), wanted[chosen]


@dataclass(frozen=True)
class Looking:
    """How pictures are looked at."""

    count: int
    change: Change = augment
    teacher: Teacher | None = None


def look(early: nn.Module, size: ImageInput, samples: Samples, how: Looking, rng: Generator) -> Looks:
    """Looks at pictures drawn by their chances, by the part that stays and by the teacher."""
    chosen = rng.choice(len(samples), how.count, p=samples.chances)
    early.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    maps, taught = list[Tensor](), list[Tensor]()
    with torch.inference_mode():
        for start in range(0, how.count, AT_ONCE):
            pictures = [how.change(samples.images[i], rng) for i in chosen[start : start + AT_ONCE]]
            found = early(to_tensor(size, pictures)).half()
            maps = maps or [torch.empty((how.count, *found.shape[1:]), dtype=torch.half)]
            maps[0][start : start + len(found)] = found
            if how.teacher is not None:
                taught.append(torch.from_numpy(how.teacher(pictures)))
    return Looks(maps[0], chosen, samples, torch.cat(taught).clone() if taught else None)


def as_taught(logits: Tensor, taught: Tensor) -> Tensor:
    """How far the network is from its teacher (Hinton et al., 2015, §2)."""
    said, wanted = torch.log_softmax(logits / SOFTER, dim=1), torch.log_softmax(taught / SOFTER, dim=1)
    return SOFTER**2 * functional.kl_div(said, wanted, reduction="batchmean", log_target=True)


def as_labelled(logits: Tensor, allowed: Tensor, smoothing: float) -> Tensor:
    """How little all classes that may be right have together; one wrong label costs 1 / ``TRUST`` at most.

    The generalised cross entropy (Zhang and Sabuncu, 2018), since some labels are wrong, and a share of the entropy.
    """
    shares = torch.log_softmax(logits, dim=1)
    own = torch.logsumexp(shares.masked_fill(allowed == 0, -math.inf), dim=1)
    missed = (1 - torch.exp(TRUST * own)) / TRUST
    return (missed - smoothing * shares.mean(dim=1)).mean()


def _follow(mean: Sequence[Tensor], weights: Sequence[Tensor], steps: Tensor | int) -> None:
    """Move the running mean to the weights, after so many steps."""
    get_ema_multi_avg_fn(min(KEPT, float((steps + 1) / (steps + 10))))(mean, weights, steps)  # type: ignore[no-untyped-call]


def _rates(network: nn.Module, rate: float) -> list[dict[str, object]]:
    linear = [weights for each in network.modules() if isinstance(each, nn.Linear) for weights in each.parameters()]
    known = {id(weights) for weights in linear}
    rest = [weights for weights in network.parameters() if id(weights) not in known]
    return [{"params": rest, "lr": rate}, {"params": linear, "lr": FASTER * rate}]
