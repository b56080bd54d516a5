"""A network for pictures of another width and height: the dims of its input, and what an exporter wrote down of them.

Convolutions take any size. What does not follow by itself are the targets of reshapes, the sizes of enlargements, the
ends of slices, and grids that are stored as numbers. A smaller picture has a part of a grid; a larger one has cells
that nobody has stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper, shape_inference

from serving.common.tensors import TensorSpec
from serving.errors import ModelError
from serving.graphs.dataflow import operands
from serving.graphs.shapes import tensor_specs
from serving.graphs.surgery.parts import Array, add, numbers, stored
from serving.graphs.surgery.sizes import Size, guessed, regrouped, scaled

ROUNDS = 64
"""A change may uncover the next one behind it; in so many rounds all are made, or the network stays as it is."""
BROADCASTING = frozenset({"Add", "Sub", "Mul", "Div", "Pow", "Where"})

Specs = Mapping[str, TensorSpec]


def reshaped(model: onnx.ModelProto, height: int, width: int) -> None:
    """Have a network take pictures of this size, in place; ModelError where it cannot.

    Its input has 4 axes and says its sizes. Whether it says the same of a picture has to be tried.
    """
    given = only_input(model)
    axes = _axes(given)
    old = Size(given.type.tensor_type.shape.dim[axes[1]].dim_value, given.type.tensor_type.shape.dim[axes[0]].dim_value)
    before = specs_of(model)
    for axis, size in zip(axes, (height, width), strict=True):
        given.type.tensor_type.shape.dim[axis].dim_value = size
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    for _ in range(ROUNDS):
        if not _Round(model, before, specs_of(model), (old, Size(width, height))).change():
            return
    raise ModelError(f"its sizes still change after {ROUNDS} rounds")


def only_input(model: onnx.ModelProto) -> onnx.ValueInfoProto:
    weights = {tensor.name for tensor in model.graph.initializer}
    (given,) = (value for value in model.graph.input if value.name not in weights)
    return given


def specs_of(model: onnx.ModelProto) -> Specs:
    """Return types and shapes of all tensors whose sizes follow from the input's; ModelError where none can."""
    try:
        return tensor_specs(model, only_input(model).name)
    except shape_inference.InferenceError as error:
        raise ModelError(f"not a valid graph: {' '.join(str(error).split())}") from error


def _axes(given: onnx.ValueInfoProto) -> tuple[int, int]:
    """Those of height and width: colours come first or last."""
    dims = given.type.tensor_type.shape.dim
    return (2, 3) if dims[1].dim_value in (1, 3) else (1, 2)


@dataclass
class _Round:
    """One walk through the graph; what follows from a change is seen in the next one."""

    model: onnx.ModelProto
    before: Specs
    after: Specs
    sizes: tuple[Size, Size]
    """The picture's, before and after."""

    def change(self) -> bool:
        """Change what is wrong and does not depend on another change; return whether there was anything."""
        held, stale = stored(self.model.graph), set[str]()
        ways: Mapping[str, Callable[[onnx.NodeProto, Mapping[str, onnx.TensorProto]], bool]] = {
            "Reshape": self._reshape,
            "Resize": self._resize,
            "Slice": self._slice,
            **dict.fromkeys(BROADCASTING, self._broadcast),
        }
        for node in self.model.graph.node:
            if stale.intersection(operands(node)) or ((way := ways.get(node.op_type)) is not None and way(node, held)):
                stale.update(node.output)
        return bool(stale)

    def _dims(self, name: str) -> tuple[Sequence[int], Sequence[int]] | None:
        """The sizes of a tensor before and after, where they are known and differ; 1 for the batch."""
        if name not in self.before or name not in self.after:
            return None
        old, new = (
            [1 if axis == 0 and dim is None else dim for axis, dim in enumerate(specs[name].shape)]
            for specs in (self.before, self.after)
        )
        if old == new or None in old or None in new:
            return None
        return [dim for dim in old if dim is not None], [dim for dim in new if dim is not None]

    def _reshape(self, node: onnx.NodeProto, held: Mapping[str, onnx.TensorProto]) -> bool:
        target, dims = numbers(held, node.input[1]), self._dims(node.input[0])
        was = self.before.get(node.output[0])
        if target is None or dims is None or was is None:
            return False
        wanted = regrouped(*dims, [dim or 1 for dim in was.shape])
        told = [size if size <= 0 else new for size, new in zip(target, wanted, strict=True)]
        return self._store(node, 1, target, told)

    def _resize(self, node: onnx.NodeProto, held: Mapping[str, onnx.TensorProto]) -> bool:
        dims = self._dims(node.input[0])
        target = numbers(held, node.input[3]) if len(node.input) > 3 else None
        if target is None or dims is None:
            return False
        was = self.before.get(node.output[0])
        wanted = scaled(*dims, target if was is None else [dim or 1 for dim in was.shape])
        return self._store(node, 3, target, wanted)

    def _slice(self, node: onnx.NodeProto, held: Mapping[str, onnx.TensorProto]) -> bool:
        """A slice to the end of an axis, where the end is written as its size."""
        dims = self._dims(node.input[0])
        ends = numbers(held, node.input[2]) if len(node.input) > 2 else None
        if dims is None or ends is None:
            return False
        axes = numbers(held, node.input[3]) if len(node.input) > 3 and node.input[3] else list(range(len(ends)))
        if axes is None:
            return False
        old, new = dims
        wanted = [new[axis] if end == old[axis] else end for end, axis in zip(ends, axes, strict=True)]
        return self._store(node, 2, ends, wanted)

    def _broadcast(self, node: onnx.NodeProto, held: Mapping[str, onnx.TensorProto]) -> bool:
        """Numbers for each place of the data beside them: those of the places that are left."""
        changed = False
        data = next((dims for name in node.input if (dims := self._dims(name)) is not None), None)
        for place, name in enumerate(node.input):
            if data is not None and name in held:
                values = numpy_helper.to_array(held[name])
                kept = self._kept(values, *data)
                if kept.shape != values.shape:
                    node.input[place] = add(self.model.graph, f"{node.output[0]}.part", kept)
                    changed = True
        return changed

    def _kept(self, values: Array, old: Sequence[int], new: Sequence[int]) -> Array:
        for axis in range(-1, -1 - min(values.ndim, len(old)), -1):
            if old[axis] != new[axis] and values.shape[axis] == old[axis] > 1:
                values = np.take(values, self._places(old[axis], new[axis]), axis)
        return values

    def _places(self, old: int, new: int) -> NDArray[np.intp]:
        """Which of so many rows, columns or cells a picture has that has so many of them."""
        before, after = self.sizes
        if after.width > before.width or after.height > before.height:
            raise ModelError(f"it holds numbers for {old} places of a picture, and a larger picture has others")
        for side, left in zip(before, after, strict=True):
            if side % old == 0 and side // old * new == left:
                return np.arange(new)
        for grids in guessed([old, new], self.sizes):
            return grids.within(before, after)
        raise ModelError(f"it holds numbers for {old} places, and nothing says which of them {new} would be")

    def _store(self, node: onnx.NodeProto, place: int, had: Sequence[int], wanted: Sequence[int]) -> bool:
        if list(had) == list(wanted):
            return False
        node.input[place] = add(self.model.graph, f"{node.output[0]}.sizes", np.array(wanted, np.int64))
        return True
