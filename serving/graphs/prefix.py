"""The common prefix of networks, such as those specialised from one (Shen, 2019 [Nexus], §3.5), by digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
from onnx import AttributeProto, numpy_helper

from serving.graphs.cut_points import recommended
from serving.graphs.dataflow import Dataflow, dataflow
from serving.graphs.segments import handed_over


def digest(model: onnx.ModelProto) -> str:
    """SHA-256 over operators, attributes, weights and wiring: equal for equal computations, names aside."""
    found = tensor_digests(model)
    return _hash(found[value.name] for value in model.graph.output).hex()


def tensor_digests(model: onnx.ModelProto) -> Mapping[str, bytes]:
    """For every tensor, a digest of all that its value depends on, the input's type and shape included."""
    versions = {opset.domain: opset.version for opset in model.opset_import}
    return _of_graph(model.graph, {}, versions)


def _of_graph(graph: onnx.GraphProto, outer: Mapping[str, bytes], versions: Mapping[str, int]) -> dict[str, bytes]:
    weights = {tensor.name: _constant(tensor) for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    found = {"": b"absent", **outer, **weights}
    found |= {value.name: _hash([b"input", b"%d" % index, _kind(value)]) for index, value in enumerate(inputs)}
    for node in graph.node:
        found |= zip(node.output, _written(node, found, versions), strict=True)
    return found


def _written(node: onnx.NodeProto, found: Mapping[str, bytes], versions: Mapping[str, int]) -> Iterator[bytes]:
    """Digests of a node's outputs."""
    attributes = [_attribute(each, found, versions) for each in sorted(node.attribute, key=lambda each: each.name)]
    if node.op_type == "Constant" and node.attribute[0].name == "value":
        yield _constant(node.attribute[0].t)
        return
    inputs = [found[name] for name in node.input]
    what = [node.domain.encode(), node.op_type.encode(), b"%d" % _version(node, versions), b"%d" % len(inputs)]
    for index in range(len(node.output)):
        yield _hash([*what, *inputs, *attributes, b"%d" % index])


def _version(node: onnx.NodeProto, versions: Mapping[str, int]) -> int:
    """The version of the operator's meaning, which most operator sets leave as it was."""
    version = versions.get(node.domain, 1)
    if not onnx.defs.has(node.op_type, node.domain):
        return version
    return int(onnx.defs.get_schema(node.op_type, version, node.domain).since_version)


def _attribute(attribute: AttributeProto, found: Mapping[str, bytes], versions: Mapping[str, int]) -> bytes:
    if attribute.type == AttributeProto.TENSOR:
        return _hash([attribute.name.encode(), _constant(attribute.t)])
    if attribute.type == AttributeProto.GRAPH:
        inner = _of_graph(attribute.g, found, versions)
        return _hash([attribute.name.encode(), *(inner[value.name] for value in attribute.g.output)])
    plain = AttributeProto()
    plain.CopyFrom(attribute)
    plain.ClearField("doc_string")
    return bytes(plain.SerializeToString(deterministic=True))


def _constant(tensor: onnx.TensorProto) -> bytes:
    """Type, shape and values, however they are stored."""
    values = numpy_helper.to_array(tensor)
    content = repr(values.tolist()).encode() if values.dtype == object else values.tobytes()
    return _hash([b"constant", b"%d" % tensor.data_type, repr(tuple(tensor.dims)).encode(), content])


def _kind(value: onnx.ValueInfoProto) -> bytes:
    tensor = value.type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return repr((tensor.elem_type, dims)).encode()


def _hash(parts: Iterable[bytes]) -> bytes:
    total = hashlib.sha256()
    for part in parts:
        total.update(b"%d:" % len(part))
        total.update(part)
    return total.digest()


def common_prefix(models: Sequence[onnx.ModelProto]) -> list[str] | None:
    """The latest place up to which all networks compute the same: a cut tensor of each, or None; raises ModelError.

    At least one of them has a cut point there, so that no layer is torn apart without need.
    """
    flows = [dataflow(model) for model in models]
    places = [_places(flow) for flow in flows]
    layers = {place for flow, known in zip(flows, places, strict=True) for place in _layers(flow, known)}
    for place in reversed(places[0] if places else {}):
        if place in layers and all(place in known for known in places):
            return [known[place] for known in places]
    return None


def prefixes(model: onnx.ModelProto) -> list[tuple[bytes, float]]:
    """For each cut point a digest of all that is computed up to it, and its share of the work; raises ModelError.

    Networks that have a digest in common have that prefix in common, as ``common_prefix`` finds it.
    """
    flow = dataflow(model)
    content = tensor_digests(flow.model)
    return [(content[handed_over(flow, point.tensor)], point.share) for point in recommended(flow)]


def _places(flow: Dataflow) -> dict[bytes, str]:
    """Map the value handed over at each cut vertex to the first such tensor, in dataflow order."""
    content, places = tensor_digests(flow.model), dict[bytes, str]()
    for name in flow.cuts:
        places.setdefault(content[handed_over(flow, name)], name)
    return places


def _layers(flow: Dataflow, places: dict[bytes, str]) -> set[bytes]:
    points = {point.tensor for point in recommended(flow)}
    return {place for place, name in places.items() if name in points}
