"""Segments cut out of the optimised network: what the runtime does across the cuts of a network, it goes on doing.

ONNX Runtime on CPUs keeps activations in blocks of channels (NCHWc) from the first convolution to the last, and does
additions and activations in the same pass. Segments that are optimised one by one lose some of that at every cut: data
are put in order for the hand-over and into blocks again. So the segments are joined, the whole is optimised, and cut
again at the same places: what is handed over is then in the runtime's own order, and the answers are bit for bit those
of the whole. ``benchmarks/segments.py`` measures what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

Optimise = Callable[[bytes], bytes]
"""A model → the same as the runtime would run it."""
Shapes = Callable[["onnx.ModelProto", Sequence[str]], Mapping[str, Sequence[int]]]
"""A model, which it may not change for good, and some of its tensors → their shapes for one item."""

_KEPT = {
    "Conv": "Conv",
    "FusedConv": "Conv",
    "Gemm": "Gemm",
    "FusedGemm": "Gemm",
    "MatMul": "Gemm",
    "FusedMatMul": "Gemm",
    **{name: name for name in ("ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "ReduceMean", "Concat")},
}
"""Operators that optimising leaves alone or gives another name; those before a place tell which place it is."""


def cut_when_optimised(segments: Sequence[bytes], optimise: Optimise, shapes: Shapes) -> list[bytes] | None:
    """The segments as they are in the optimised whole; None where the places cannot be found in it again."""
    import onnx

    models = [onnx.load_from_string(segment) for segment in segments]
    handed = [model.graph.output[0].name for model in models[:-1]]
    if handed != [_input(model).name for model in models[1:]] or not _has_size(_input(models[0])):
        return None
    joined = _joined(models)
    whole = onnx.load_from_string(optimise(joined.SerializeToString()))
    last = models[-1].graph.output[0].name
    places = _places(_Flow(whole, last), [_Flow(joined, last).before(name) for name in handed])
    if places is None:
        return None
    return list(_pieces(whole, places, [[out.name for out in model.graph.output] for model in models], shapes))


class _Flow:
    """Which nodes a tensor comes from."""

    def __init__(self, model: onnx.ModelProto, sink: str) -> None:
        from serving.graphs.dataflow import cut_vertices  # brings onnx, which networks that are run whole do without

        constants = {tensor.name for tensor in model.graph.initializer}
        self.source = _input(model).name
        self.producer = {name: node for node in model.graph.node for name in node.output}
        edges = ((i, o) for node in model.graph.node for i in node.input for o in node.output)
        self.cuts = cut_vertices([(i, o) for i, o in edges if i and i not in constants], self.source, sink)

    def behind(self, ends: Sequence[str], start: str) -> list[onnx.NodeProto]:
        """The nodes from a tensor to others, in no particular order."""
        found: dict[int, onnx.NodeProto] = {}
        pending = list(ends)
        while pending:
            node = None if (name := pending.pop()) == start else self.producer.get(name)
            if node is not None and id(node) not in found:
                found[id(node)] = node
                pending += node.input
        return list(found.values())

    def before(self, name: str) -> Counter[str]:
        """How many of the operators that optimising keeps lie between the input and a tensor."""
        nodes = self.behind([name], self.source)
        return Counter(_KEPT[node.op_type] for node in nodes if node.op_type in _KEPT)


def _places(flow: _Flow, wanted: Sequence[Counter[str]]) -> list[str] | None:
    """For each place the last cut vertex with the same operators before it; None unless all are there and differ."""
    last = {tuple(sorted(flow.before(cut).items())): cut for cut in flow.cuts}
    found = [last.get(tuple(sorted(each.items()))) for each in wanted]
    places = [place for place in found if place is not None]
    return places if len(set(places)) == len(wanted) else None


def _pieces(
    whole: onnx.ModelProto, places: Sequence[str], outputs: Sequence[Sequence[str]], shapes: Shapes
) -> Iterator[bytes]:
    """One model per segment: from place to place, with the answers that its segment gives besides."""
    import onnx

    flow = _Flow(whole, outputs[-1][0])
    known = shapes(whole, places)
    batch = _input(whole).type.tensor_type.shape.dim[0].dim_value or "N"
    values = {
        place: onnx.helper.make_tensor_value_info(place, onnx.TensorProto.FLOAT, [batch, *known[place][1:]])
        for place in places
    } | {value.name: value for value in whole.graph.output}
    ends = [[place, *names[1:]] for place, names in zip(places, outputs, strict=False)] + [list(outputs[-1])]
    for start, names in zip([flow.source, *places], ends, strict=True):
        inside = {id(node) for node in flow.behind(names, start)}
        nodes = [node for node in whole.graph.node if id(node) in inside]
        used = {name for node in nodes for name in node.input}
        # Not by onnx's helpers, which copy the weights three times.
        made = onnx.ModelProto(ir_version=whole.ir_version, opset_import=whole.opset_import)
        made.graph.name = "segment"
        made.graph.node.extend(nodes)
        made.graph.input.append(_input(whole) if start == flow.source else values[start])
        made.graph.output.extend(values[name] for name in names)
        made.graph.initializer.extend(tensor for tensor in whole.graph.initializer if tensor.name in used)
        yield made.SerializeToString()


def _joined(models: Sequence[onnx.ModelProto]) -> onnx.ModelProto:
    """The network that the segments are pieces of, with all their answers."""
    import onnx

    whole = onnx.ModelProto()
    whole.CopyFrom(models[0])
    graph = whole.graph
    known = {tensor.name for tensor in graph.initializer}
    answers = [value for model in models for value in model.graph.output[(model is not models[-1]) :]]
    for model in models[1:]:
        graph.node.extend(model.graph.node)
        graph.initializer.extend(each for each in model.graph.initializer if each.name not in known)
        known |= {tensor.name for tensor in model.graph.initializer}
    del graph.output[:], graph.value_info[:]
    graph.output.extend(answers)
    return whole


def _has_size(value: onnx.ValueInfoProto) -> bool:
    """Whether all axes but the first have a length."""
    return all(dim.dim_value > 0 for dim in value.type.tensor_type.shape.dim[1:])


def _input(model: onnx.ModelProto) -> onnx.ValueInfoProto:
    constants = {tensor.name for tensor in model.graph.initializer}
    return next(value for value in model.graph.input if value.name not in constants)
