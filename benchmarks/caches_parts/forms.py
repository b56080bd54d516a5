"""The forms of predictors (Balasubramanian et al., 2021 [GATI], Table 3), and a place for more.

A predictor reads activations that were pooled to a small grid. Its form says which pieces of the grid a learnt hidden
layer reads, all with the same weights; the output layer reads what all pieces gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, isqrt, prod
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from serving.common.explain import choices
from serving.errors import ModelError

Values = NDArray[np.float32]
Grid = tuple[int, int, int]
"""Channels, rows, columns of pooled activations."""
Shape = tuple[int, int]
"""Pieces, and values of each."""

CHANNELS = 16
"""Outputs of a convolution at each place."""
MOST_HIDDEN = 8192
MOST_VALUES = 65536
"""Values that a predictor reads of one input, over all pieces, or that its hidden layer gives for them."""
_FORM = re.compile(r"(?P<kind>[A-Za-z]+)\((?P<sizes>\d{1,5}(,\d{1,5})?)\)")


class Form(Protocol):
    """How a predictor begins."""

    @property
    def hidden(self) -> int | None:
        """Width of the learnt hidden layer for each piece; None: the pieces are the hidden layer."""
        ...

    def shape(self, grid: Grid) -> Shape | None:
        """The shape of ``pieces`` for activations of this size, by arithmetic; None where they cannot be read so."""
        ...

    def pieces(self, activations: Values) -> Values:
        """N × C × H × W → N × pieces × values."""
        ...


@dataclass(frozen=True, slots=True)
class FullyConnected:
    """FC(h): a hidden layer of h that reads everything."""

    hidden: int

    def shape(self, grid: Grid) -> Shape:
        return 1, prod(grid)

    def pieces(self, activations: Values) -> Values:
        return activations.reshape(len(activations), 1, -1)


@dataclass(frozen=True, slots=True)
class Pooling:
    """Pool(h): pooled further to at most h values, which go straight to the output layer."""

    most: int
    hidden = None

    def shape(self, grid: Grid) -> Shape | None:
        """See ``Form``; at most every channel is a value."""
        return (1, grid[0] * self._parts(grid) ** 2) if grid[0] <= self.most else None

    def pieces(self, activations: Values) -> Values:
        """Pool to the finest grid of at most h values."""
        count, channels, rows, columns = activations.shape
        parts = self._parts((channels, rows, columns))
        if parts == rows == columns:
            return activations.reshape(count, 1, -1)
        blocks = activations.reshape(count, channels, parts, rows // parts, parts, columns // parts)
        pooled: Values = blocks.mean(axis=(3, 5)).reshape(count, 1, -1)
        return pooled

    def _parts(self, grid: Grid) -> int:
        """Sides of the finest grid."""
        common = gcd(grid[1], grid[2])
        finest = min(common, isqrt(self.most // grid[0]))
        return next(parts for parts in range(finest, 0, -1) if common % parts == 0)


@dataclass(frozen=True, slots=True)
class Convolution:
    """Conv(k,s): a convolution of k × k with stride s, without padding."""

    kernel: int
    stride: int
    hidden = CHANNELS

    def shape(self, grid: Grid) -> Shape | None:
        if min(grid[1:]) < self.kernel:
            return None
        rows, columns = ((side - self.kernel) // self.stride + 1 for side in grid[1:])
        return rows * columns, grid[0] * self.kernel**2

    def pieces(self, activations: Values) -> Values:
        """One piece for each place of the window."""
        windows = sliding_window_view(activations, (self.kernel, self.kernel), axis=(2, 3))
        windows = windows[:, :, :: self.stride, :: self.stride]
        count, channels, rows, columns = windows.shape[:4]
        return windows.transpose(0, 2, 3, 1, 4, 5).reshape(count, rows * columns, channels * self.kernel**2)


FORMS: dict[str, Callable[..., Form]] = {"FC": FullyConnected, "Pool": Pooling, "Conv": Convolution}
"""By name; another form is registered here, with as many numbers as it takes."""
EXPLORED = ("FC(64)", "FC(256)", "Pool(512)", "Conv(3,1)")
"""The forms that are tried at every cut point."""


@lru_cache(maxsize=64)
def form(name: str) -> Form:
    """The form of this name, as ``FC(128)``; ModelError for anything else."""
    found = _FORM.fullmatch(name)
    if found is None:
        raise ModelError(f"predictor {name!r}: must be a form and its sizes, as FC(128) or Conv(3,1)")
    if found["kind"] not in FORMS:
        raise ModelError(f"predictor {name!r}: unknown form{choices(found['kind'], FORMS)}")
    sizes = [int(each) for each in found["sizes"].split(",")]
    try:
        made = FORMS[found["kind"]](*sizes)
    except TypeError:
        raise ModelError(f"predictor {name!r}: {found['kind']} does not take {len(sizes)} sizes") from None
    if not all(0 < size <= MOST_HIDDEN for size in sizes):
        raise ModelError(f"predictor {name!r}: sizes must be 1 … {MOST_HIDDEN}")
    return made


def shape_read(name: str, grid: Grid) -> Shape | None:
    """The values that a form reads of one input; None where it cannot, or would make too much of them.

    Nothing is run: names and sizes are not trusted.
    """
    chosen = form(name)
    found = chosen.shape(grid)
    if found is None or prod(grid) > MOST_VALUES:
        return None
    pieces, values = found
    return found if pieces * max(values, chosen.hidden or 0) <= MOST_VALUES else None
