"""Requests for inference as JSON with, perhaps, bytes of tensors behind it, to and from the protocol's messages. Pure.

What comes is of declared kinds and within bounds; numbers of a tensor may be nested as its shape says, or flat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from serving.common.tensors import Array
from serving.common.untrusted import decode, printable
from serving.errors import Malformed
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import FIELDS, ParameterMap, Value, WireLimits, set_parameter, values
from serving.remote.protocol.tensors import MOST_ELEMENTS, datatype, dtype_of, read_outputs

BINARY_SIZE, BINARY_OUTPUT, BINARY_OUTPUTS = "binary_data_size", "binary_data", "binary_data_output"
"""Parameters of a tensor, of an output that is asked for, and of a request whose outputs are all to be bytes."""
LARGEST_JSON = 32 << 20
MOST_VALUES = 2 * MOST_ELEMENTS
"""Values of a request's JSON, lists among them: each takes fifty times as much memory as its letters may."""
LARGEST = 1 << 63
Text = Annotated[str, msgspec.Meta(max_length=512)]
Parameters = dict[Text, bool | int | float | str]


class HttpInput(msgspec.Struct):
    name: Text
    datatype: Text
    shape: Annotated[list[int], msgspec.Meta(max_length=8)]
    parameters: Parameters = {}
    data: list[object] | None = None


class HttpOutput(msgspec.Struct):
    name: Text
    parameters: Parameters = {}


class HttpQuestion(msgspec.Struct):
    """The JSON of a request for inference."""

    inputs: Annotated[list[HttpInput], msgspec.Meta(max_length=16)]
    outputs: Annotated[list[HttpOutput], msgspec.Meta(max_length=16)] = []
    id: Text = ""
    parameters: Parameters = {}


class Asked(NamedTuple):
    """A request, and the form that its client wants outputs in."""

    request: pb.ModelInferRequest
    binary: frozenset[str]
    """Outputs that are wanted as bytes."""
    all_binary: bool


def read_question(model: str, version: str, body: bytes, json_bytes: int, limits: WireLimits) -> Asked:
    """Decode a body whose first ``json_bytes`` are JSON; Malformed where anything is not as it should be."""
    if not 0 < json_bytes <= len(body):
        raise Malformed(f"{json_bytes} bytes of JSON are announced in a body of {len(body)}")
    if sum(body.count(mark, 0, json_bytes) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise Malformed(f"more than {MOST_VALUES} values in the JSON: send tensors as bytes")
    said = decode(memoryview(body)[:json_bytes], HttpQuestion, LARGEST_JSON)
    request = pb.ModelInferRequest(model_name=model, model_version=version, id=said.id)
    all_binary = said.parameters.pop(BINARY_OUTPUTS, False)
    _put(request.parameters, said.parameters)
    at = json_bytes
    for tensor in said.inputs:
        size = tensor.parameters.pop(BINARY_SIZE, None)
        data = _numbers(tensor) if size is None else _bytes(tensor, body, at, size)
        at += len(data) if size is not None else 0
        put = request.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=_shape(tensor))
        _put(put.parameters, tensor.parameters)
        request.raw_input_contents.append(data)
    if at != len(body):
        raise Malformed(f"{len(body) - at} bytes behind the last tensor")
    binary = set()
    for output in said.outputs:
        if output.parameters.pop(BINARY_OUTPUT, all_binary) is True:
            binary.add(output.name)
        _put(request.outputs.add(name=output.name).parameters, output.parameters)
    return Asked(request, frozenset(binary), all_binary is True and not said.outputs)


def write_answer(answer: pb.ModelInferResponse, asked: Asked, limits: WireLimits) -> tuple[bytes, int | None]:
    """A body, and how many bytes of it are JSON; None: all of them."""
    outputs, behind = list[dict[str, object]](), list[bytes]()
    for name, array in read_outputs(answer, limits).items():
        output: dict[str, object] = {
            "name": name,
            "datatype": datatype(array.dtype),
            "shape": list(array.shape),
        }
        if asked.all_binary or name in asked.binary:
            behind.append(array.tobytes())
            output["parameters"] = {BINARY_SIZE: array.nbytes}
        else:
            output["data"] = array.reshape(-1).tolist()
        outputs.append(output)
    said = {"model_name": answer.model_name, "model_version": answer.model_version, "id": answer.id}
    json = msgspec.json.encode({**said, "parameters": values(answer.parameters, limits), "outputs": outputs})
    return b"".join([json, *behind]), len(json) if behind else None


def _put(parameters: ParameterMap, given: Parameters) -> None:
    for name, value in given.items():
        if isinstance(value, int) and not -LARGEST <= value < LARGEST:
            raise Malformed(f"parameter {printable(name, 40)} is too large a number")
        assert type(value) in FIELDS
        set_parameter(parameters, name, value)


def _shape(tensor: HttpInput) -> list[int]:
    if not all(0 <= size < 1 << 31 for size in tensor.shape):
        raise Malformed(f"tensor {printable(tensor.name, 40)}: its shape makes no sense")
    return tensor.shape


def _bytes(tensor: HttpInput, body: bytes, at: int, size: Value) -> bytes:
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= len(body) - at:
        raise Malformed(f"tensor {printable(tensor.name, 40)}: {BINARY_SIZE} is not what follows the JSON")
    if tensor.data is not None:
        raise Malformed(f"tensor {printable(tensor.name, 40)}: data beside {BINARY_SIZE}")
    return body[at : at + size]


def _numbers(tensor: HttpInput) -> bytes:
    """The bytes of a tensor that is written out."""
    what = f"tensor {printable(tensor.name, 40)}"
    dtype, items = dtype_of(tensor.datatype, what), math.prod(_shape(tensor))
    if tensor.data is None:
        raise Malformed(f"{what}: it has no data")
    if items > MOST_ELEMENTS:
        raise Malformed(f"{what}: {items} numbers are more than the {MOST_ELEMENTS} that are taken as JSON")
    flat = _flat(tensor.data, tensor.shape)
    if flat is None or len(flat) != items:
        raise Malformed(f"{what}: its data are neither flat nor nested as its shape says")
    array = np.empty(items, dtype)
    _fill(array, flat, what)
    return array.tobytes()


def _flat(data: Sequence[object], shape: Sequence[int]) -> list[object] | None:
    """The numbers in their order; None where lists are not as long as the shape says."""
    level = list(data)
    if not any(isinstance(each, list) for each in level):
        return level
    for size in shape[1:]:
        rows = [each for each in level if isinstance(each, list) and len(each) == size]
        if len(rows) != len(level):
            return None
        level = [each for row in rows for each in row]
    return level


def _fill(array: Array, flat: Sequence[object], what: str) -> None:
    kinds = {"b": (bool,), "f": (int, float)}.get(array.dtype.kind, (int,))
    if not all(type(each) in kinds for each in flat):
        raise Malformed(f"{what}: its data are not all of its type")
    try:
        with np.errstate(over="raise"):
            array[:] = flat
    except (OverflowError, ValueError, FloatingPointError):
        raise Malformed(f"{what}: a number does not fit its type") from None
