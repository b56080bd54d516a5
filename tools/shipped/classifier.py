"""A backbone in two parts, of which the early one may stay as it is, and a classifier of the means of its last maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn


class Late(nn.Module):
    """The later stages, and a linear classifier of the means of what the last of them give."""

    def __init__(
        self, middle: nn.Module, last: nn.Module, widths: Sequence[int], classes: int, dropped: float = 0.0
    ) -> None:
        """``widths``: channels of both stages, or of the last; ``dropped``: share of means left out at a time."""
        super().__init__()
        self.middle, self.last = middle, last
        self.norm: nn.Module = nn.BatchNorm1d(sum(widths), affine=False)
        self.drop = nn.Dropout(dropped)
        self.linear = nn.Linear(sum(widths), classes)
        self._stages = len(widths)

    def forward(self, x: Tensor) -> Tensor:
        """Maps of the early stages → N × classes logits."""
        middle = self.middle(x)
        maps = (middle, self.last(middle))[-self._stages :]
        features = torch.cat([each.mean((2, 3)) for each in maps], dim=1)
        logits: Tensor = self.linear(self.drop(self.norm(features)))
        return logits


class Classifier(nn.Module):
    """A network whose ``late`` part is trained, and whose ``early`` part may be."""

    def __init__(self, early: nn.Module, late: Late) -> None:
        super().__init__()
        self.early, self.late = early, late

    def forward(self, x: Tensor) -> Tensor:
        """N × 3 × H × W → N × classes logits."""
        logits: Tensor = self.late(self.early(x))
        return logits

    def fold(self) -> Self:
        """Put the normalisation of the features into the classifier; nothing else changes, and training ends."""
        if isinstance(self.late.norm, nn.BatchNorm1d):
            fold_norm(self.late.norm, self.late.linear)
            self.late.norm = nn.Identity()
        return self.eval()


LEAST_DEVIATION = 0.05
"""Standard deviation of a feature below which it is left out."""


def fold_norm(norm: nn.BatchNorm1d, linear: nn.Linear) -> None:
    """Let a linear layer do in place what it did after the normalisation; the latter has no weights.

    Features that hardly vary are left out: divided by next to nothing they are all that an int8 network hears.
    """
    assert norm.running_mean is not None
    assert norm.running_var is not None
    with torch.no_grad():
        deviation = torch.sqrt(norm.running_var + norm.eps)
        linear.weight *= torch.where(deviation < LEAST_DEVIATION, 0, 1 / deviation)
        linear.bias.sub_(linear.weight @ norm.running_mean)
