"""Rows whose taps and scores are known one by one, exits that know them again, and the plain way through a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitResult, ExitSet, RowPolicy
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import CutPoint, cut_points
from serving.graphs.taps import tap_grid, tapped

ROWS = 8


class Said(NamedTuple):
    distribution: NDArray[np.float32]
    hit: NDArray[np.bool_]


@cache
def network() -> onnx.ModelProto:
    return onnx.load(Catalogue([SHIPPED]).find("street-kind").path)


@cache
def points() -> tuple[CutPoint, ...]:
    found = [point for point in cut_points(network()) if tap_grid(point)]
    return found[len(found) // 3], found[2 * len(found) // 3]


def cuts() -> tuple[str, ...]:
    return tuple(point.tensor for point in points())


@cache
def whole() -> EngineNetwork:
    return EngineNetwork("kind", network(), OnnxRuntimeEngine("kind", threads=1))


def opened() -> ExitNetwork:
    return ExitNetwork("kind", tapped(network(), points()), cuts(), OnnxRuntimeEngine("kind", threads=1), 8)


@cache
def items() -> NDArray[np.float32]:
    shape = [dim.dim_value for dim in network().graph.input[0].type.tensor_type.shape.dim[1:]]
    return np.random.default_rng(0).random((ROWS, *shape), np.float32)


class Alone(NamedTuple):
    """The outputs for all rows of ``items``, each by itself."""

    scores: Array
    taps: Sequence[Array]
    """By cut."""


@cache
def alone() -> Alone:
    engine = OnnxRuntimeEngine("kind", threads=1)
    engine.load([segment.SerializeToString() for segment in tapped(network(), points())])
    taps: list[list[Array]] = [[] for _ in points()]
    for row in range(ROWS):
        handed = items()[row : row + 1]
        for index in range(len(points())):
            handed, tap = engine.run(index, handed)
            taps[index].append(tap[0])
    scores = [whole().run(items()[row : row + 1])[0][0] for row in range(ROWS)]
    return Alone(np.stack(scores), [np.stack(each) for each in taps])


@dataclass
class Knows:
    """An exit that knows rows again by their taps, and is sure of some; says a class for each row."""

    cut: int
    sure: frozenset[int]
    classes: int = 3
    shown: list[list[int]] = field(default_factory=list)
    """By look: the rows."""

    def look(self, features: NDArray[np.float32]) -> Said:
        far = np.abs(features[:, None] - alone().taps[self.cut][None]).max(axis=2)
        rows = far.argmin(axis=1).tolist()
        assert far.min(axis=1).max(initial=0.0) < 1e-3
        self.shown.append(rows)
        return Said(np.stack([self.says(row) for row in rows]), np.array([row in self.sure for row in rows]))

    def says(self, row: int) -> NDArray[np.float32]:
        return np.float32(row + 1) / np.arange(1, self.classes + 1, dtype=np.float32) + np.float32(self.cut)


@dataclass
class Asked:
    """A request of some of the rows."""

    rows: Sequence[int]
    exits: dict[str, Knows] | None = None
    leaves: Sequence[bool] | None = None
    classes: int = 3

    def request(self) -> GroupRequest:
        exits = None if self.exits is None else ExitSet(self.exits, self.classes)
        leaves = None if self.leaves is None else np.array(self.leaves, np.bool_)
        return GroupRequest("kind", items()[list(self.rows)], RowPolicy(exits, leaves))

    def expected(self) -> ExitResult:
        """Row by row, by the words of the contract."""
        count, classes = len(self.rows), 0 if self.exits is None else self.classes
        scores, said = np.zeros((count, *alone().scores.shape[1:]), np.float32), np.zeros((count, classes), np.float32)
        place, left = np.full(count, len(cuts()), np.int32), np.zeros(count, np.bool_)
        for at, row in enumerate(self.rows):
            for index, cut in enumerate(cuts()):
                exit_ = (self.exits or {}).get(cut)
                if exit_ is not None and row in exit_.sure:
                    place[at], said[at] = index, exit_.says(row)
                    left[at] = self.leaves is None or self.leaves[at]
                    break
            if not left[at]:
                scores[at] = alone().scores[row]
        return ExitResult(scores, place, left, said, [tap[list(self.rows)] for tap in alone().taps])


def run(network: ExitNetwork, asked: Sequence[Asked], step: int = 8) -> list[ExitResult]:
    return [ExitResult.of(outputs) for outputs in network.run([each.request() for each in asked], step)]


def check(found: ExitResult, expected: ExitResult, near: Callable[[Array, Array], None]) -> None:
    """Compare what is to be read; ``near``: compares floats that the network computed."""
    np.testing.assert_array_equal(found.place, expected.place)
    np.testing.assert_array_equal(found.left, expected.left)
    np.testing.assert_array_equal(found.distribution, expected.distribution)
    assert (found.scores[found.left] == 0).all()
    near(found.scores, expected.scores)
    for tap, other in zip(found.taps, expected.taps, strict=True):
        assert tap.dtype == np.float32
        near(tap[~found.left], other[~found.left])
