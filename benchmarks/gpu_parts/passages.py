"""A network with exits on a GPU: rows that leave, and those that run on (Apparate's and GATI's question, on a GPU)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import onnx

from benchmarks.gpu_parts.meters import costs
from benchmarks.harness import Row
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitSet, RowPolicy
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.graphs.cut_points import cut_points
from serving.graphs.taps import tap_grid, tapped

NAME, CLASSES, MOST = "vehicle-type", 2, 64
SIZES = (1, 16, 64)
LEAVING = (0.0, 0.5, 1.0)


class Leaves:
    """An exit at which a share of the rows leaves, those that come first."""

    def __init__(self, share: float) -> None:
        self._share = share

    def look(self, features: Array) -> Leaves:
        """Answers for the rows."""
        count = len(features)
        self.hit = np.arange(count) < round(self._share * count)
        self.distribution = np.full((count, CLASSES), 1 / CLASSES, np.float32)
        return self


def passage_rows(quick: bool, budget_s: float) -> Iterator[Row]:
    """Whole, and with one cut a third of the way where a share of the rows leaves."""
    model = onnx.load(Catalogue([SHIPPED]).find(NAME).path)
    points = [point for point in cut_points(model) if tap_grid(point)]
    point = points[len(points) // 3]
    whole = EngineNetwork(NAME, model, OnnxRuntimeEngine(NAME, threads=1))
    cut = ExitNetwork(NAME, tapped(model, [point]), [point.tensor], OnnxRuntimeEngine(NAME, threads=1))
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim[1:]]
    for size in SIZES[:1] if quick else SIZES:
        batch = np.random.default_rng(0).random((size, *shape), np.float32)
        ways: dict[str, Callable[[], object]] = {"whole": partial(whole.run, batch)}
        for share in LEAVING:
            policy = RowPolicy(ExitSet({point.tensor: Leaves(share)}, CLASSES))
            request = GroupRequest(NAME, batch, policy=policy)
            ways[f"cut, {share:.0%} leave"] = partial(cut.run, [request], MOST)
        for way, run in ways.items():
            yield {"what": "exits", "name": NAME, "way": way, "size": size, **costs(run, budget_s).row(size)}
