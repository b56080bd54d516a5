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
