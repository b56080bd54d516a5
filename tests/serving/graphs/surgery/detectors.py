"""Small detectors with random weights, as exporters of the YOLO family write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
END = (1 << 63) - 1
CLASSES = 3
VALUES = 5 + CLASSES


class Sketch:
    """Collects nodes and weights."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}
        self._chance = np.random.default_rng(seed)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output, whose name is returned."""
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def weight(self, values: Any) -> str:
        """Add a weight, whose name is returned."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(values)
        return name

    def conv(self, source: str, channels: tuple[int, int], size: int = 3, **attributes: Any) -> str:
        """Add a convolution that keeps the size at stride 1, and its activation."""
        inside, out = channels
        weights = self._chance.normal(0, 1 / np.sqrt(inside * size * size), (out, inside, size, size))
        names = (
            self.weight(weights.astype(np.float32)),
            self.weight(self._chance.normal(0, 0.3, out).astype(np.float32)),
        )
        pads = {"pads": [size // 2] * 4, **attributes}
        linear = self.node("Conv", source, *names, kernel_shape=[size, size], **pads)
        return self.node("Mul", linear, self.node("Sigmoid", linear))

    def focus(self, source: str, order: Sequence[tuple[int, int]] = ((0, 0), (1, 0), (0, 1), (1, 1))) -> str:
        """Add slices of every second pixel, behind each other as channels."""
        ends, step = self.weight([END]), self.weight([2])
        quarters = []
        for row, column in order:
            part = self.node("Slice", source, self.weight([row]), ends, self.weight([2]), step)
            quarters.append(self.node("Slice", part, self.weight([column]), ends, self.weight([3]), step))
        return self.node("Concat", *quarters, axis=1)

    def pools(self, source: str, sides: Sequence[int] = (5, 9, 13)) -> str:
        """Add pools of several windows beside each other."""
        each = [self.node("MaxPool", source, kernel_shape=[side] * 2, pads=[side // 2] * 4) for side in sides]
        return self.node("Concat", source, *each, axis=1)

    def model(self, output: str, shape: Sequence[int | str] = (1, 3, 96, 96)) -> onnx.ModelProto:
        """The network with this output."""
        made = helper.make_graph(
            self.nodes,
            "sketch",
            [helper.make_tensor_value_info("images", TensorProto.FLOAT, list(shape))],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            [numpy_helper.from_array(values, name) for name, values in self.weights.items()],
        )
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        return model


def detector(side: int = 96, *, wide: str = "open", grids: bool = False, glance: bool = False) -> onnx.ModelProto:
    """A detector with cells of 8, 16 and 32 pixels: N × cells × (5 + classes), raw as YOLOX says it.

    ``wide``: whether the lengths of rows are left open, or ``written`` down by the exporter. ``grids``: centres are in
    pixels, by grids stored as numbers. ``glance``: every cell hears of the whole picture.
    """
    net = Sketch()
    first = net.conv(net.focus("images"), (12, 16))
    second = net.conv(first, (16, 16), strides=[2, 2])
    fine = net.conv(second, (16, 16), strides=[2, 2])
    middle = net.conv(fine, (16, 16), strides=[2, 2])
    coarse = net.conv(net.pools(net.conv(middle, (16, 16), strides=[2, 2])), (64, 16), 1)
    scales = net.weight(np.array([1, 1, 2, 2], np.float32))
    larger = net.node("Resize", coarse, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric",
                      nearest_mode="floor")  # fmt: skip
    middle = net.conv(net.node("Concat", middle, larger, axis=1), (32, 16))
    if glance:
        fine = net.node("Mul", fine, net.node("GlobalAveragePool", fine))
    rows = []
    for level, stride in ((fine, 8), (middle, 16), (coarse, 32)):
        said = net.conv(level, (16, VALUES), 1)
        length = -1 if wide == "open" else (side // stride) ** 2
        rows.append(net.node("Reshape", said, net.weight([1, VALUES, length])))
    output = net.node("Transpose", net.node("Concat", *rows, axis=2), perm=[0, 2, 1])
    if grids:
        output = net.node("Add", output, net.weight(_grid(side)))
    return net.model(output, (1, 3, side, side))


def _grid(side: int) -> Array:
    """1 × cells × values: column and row of each cell, then zeros."""
    cells = []
    for stride in (8, 16, 32):
        rows, columns = np.mgrid[: side // stride, : side // stride]
        cells.append(np.column_stack([columns.ravel(), rows.ravel()]))
    grid = np.zeros((1, sum(map(len, cells)), VALUES), np.float32)
    grid[0, :, :2] = np.vstack(cells)
    return grid


def _levels(net: Sketch) -> list[tuple[str, int]]:
    """Features of three grids, and their strides."""
    strided = {"strides": [2, 2]}
    half = net.conv(net.conv("images", (3, 8), **strided), (8, 16), **strided)
    fine = net.conv(half, (16, 16), **strided)
    middle = net.conv(fine, (16, 16), **strided)
    return [(fine, 8), (middle, 16), (net.conv(middle, (16, 16), **strided), 32)]


def anchored(side: int = 96) -> onnx.ModelProto:
    """A detector with three boxes for each cell, whose grids are stored level by level: N × boxes × (5 + classes)."""
    net, rows = Sketch(), []
    for level, stride in _levels(net):
        cells = side // stride
        target = net.weight([1, 3, VALUES, cells, cells])
        said = net.node("Reshape", net.conv(level, (16, 3 * VALUES), 1), target)
        said = net.node("Sigmoid", net.node("Transpose", said, perm=[0, 1, 3, 4, 2]))
        centre = net.node("Slice", said, net.weight([0]), net.weight([2]), net.weight([4]))
        rest = net.node("Slice", said, net.weight([2]), net.weight([END]), net.weight([4]))
        rows_, columns = np.mgrid[:cells, :cells]
        grid = np.broadcast_to(np.stack([columns, rows_], -1), (1, 3, cells, cells, 2)).astype(np.float32)
        centre = net.node("Mul", net.node("Add", centre, net.weight(grid)), net.weight(np.float32(stride)))
        joined = net.node("Concat", centre, rest, axis=4)
        rows.append(net.node("Reshape", joined, net.weight([1, 3 * cells * cells, VALUES])))
    return net.model(net.node("Concat", *rows, axis=1), (1, 3, side, side))


def distributed(side: int = 96) -> onnx.ModelProto:
    """A detector that says where edges lie as a distribution, its grids stored as one: N × (4 + classes) × cells."""
    net, rows, bins = Sketch(), [], 4
    for level, _ in _levels(net):
        said = net.node("Concat", net.conv(level, (16, 4 * bins), 1), net.conv(level, (16, CLASSES), 1), axis=1)
        rows.append(net.node("Reshape", said, net.weight([1, 4 * bins + CLASSES, -1])))
    whole, axis = net.node("Concat", *rows, axis=2), net.weight([1])
    grid, strides = (
        _grid(side)[..., :2].transpose(0, 2, 1) + 0.5,
        [s for s in (8, 16, 32) for _ in range((side // s) ** 2)],
    )
    cells = grid.shape[2]
    edges = net.node("Slice", whole, net.weight([0]), net.weight([4 * bins]), axis)
    edges = net.node("Reshape", edges, net.weight([1, 4, bins, cells]))
    edges = net.node("Softmax", net.node("Transpose", edges, perm=[0, 2, 1, 3]), axis=1)
    edges = net.node("Conv", edges, net.weight(np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1)))
    edges = net.node("Reshape", edges, net.weight([1, 4, cells]))
    before = net.node("Slice", edges, net.weight([0]), net.weight([2]), axis)
    behind = net.node("Slice", edges, net.weight([2]), net.weight([4]), axis)
    first, last = net.node("Sub", net.weight(grid), before), net.node("Add", net.weight(grid), behind)
    centre = net.node("Div", net.node("Add", first, last), net.weight(np.float32(2)))
    boxes = net.node("Concat", centre, net.node("Sub", last, first), axis=1)
    boxes = net.node("Mul", boxes, net.weight(np.array([strides], np.float32)))
    scores = net.node("Sigmoid", net.node("Slice", whole, net.weight([4 * bins]), net.weight([END]), axis))
    return net.model(net.node("Concat", boxes, scores, axis=1), (1, 3, side, side))
