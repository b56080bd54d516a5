"""Arrays to and from the tensors of requests and answers: raw bytes, typed elements, or places in shared memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from serving.common.tensors import Array
from serving.common.untrusted import printable
from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import InferTensorContents, ModelInferRequest, ModelInferResponse
from serving.remote.protocol.parameters import SharedPlace, WireLimits, checked_name, put_place, read_place

Described = ModelInferRequest.InferInputTensor | ModelInferResponse.InferOutputTensor
LARGEST_AXIS = 1 << 31


ReadShared = Callable[[SharedPlace, Array], None]
"""Fills a contiguous array of the place's size; Malformed where the region is not known or ends before."""


def add_input(request: ModelInferRequest, name: str, array: Array, place: SharedPlace | None = None) -> None:
    """Append an array to a request: its bytes, or the place where the caller has put them."""
    _describe(request.inputs.add(), name, array, place)
    if place is None:
        request.raw_input_contents.append(raw(array))


def add_output(response: ModelInferResponse, name: str, array: Array, place: SharedPlace | None = None) -> None:
    """Append an array to an answer: its bytes, or the place where the caller has put them."""
    _describe(response.outputs.add(), name, array, place)
    if place is None:
        response.raw_output_contents.append(raw(array))


def raw(array: Array) -> bytes:
    """The bytes as they travel: little-endian, the last axis fastest."""
    return array.astype(DTYPES[datatype(array.dtype)], copy=False).tobytes()


def read_inputs(request: ModelInferRequest, limits: WireLimits, shared: ReadShared | None) -> dict[str, Array]:
    """The arrays of a request by name; Malformed where anything is not as it should be. Some cannot be written to."""
    return _read(request.inputs, request.raw_input_contents, limits, shared)


def read_outputs(
    response: ModelInferResponse, limits: WireLimits, wanted: Container[str] | None = None
) -> dict[str, Array]:
    """The arrays of an answer by name; Malformed where anything is not as it should be. Some cannot be written to.

    ``wanted``: the names of those that are read; None: all.
    """
    return _read(response.outputs, response.raw_output_contents, limits, None, wanted)


def _describe(tensor: Described, name: str, array: Array, place: SharedPlace | None) -> None:
    tensor.name, tensor.datatype = name, datatype(array.dtype)
    tensor.shape.extend(array.shape)
    if place is not None:
        put_place(tensor.parameters, place)


def _read(
    tensors: Sequence[Described],
    raws: Sequence[bytes],
    limits: WireLimits,
    shared: ReadShared | None,
    wanted: Container[str] | None = None,
) -> dict[str, Array]:
    if len(tensors) > limits.tensors:
        raise Malformed(f"{len(tensors)} tensors are more than the {limits.tensors} that are allowed")
    found: dict[str, Array] = {}
    left, size_bytes = iter(raws), 0
    for tensor in tensors:
        what = f"tensor {checked_name(tensor.name, 'the name of a tensor', limits)!r}"
        if wanted is not None and tensor.name not in wanted:
            next(left, None)
            continue
        if tensor.name in found:
            raise Malformed(f"{what} comes twice")
        dtype, shape = dtype_of(tensor.datatype, what), _shape(tensor, what, limits)
        size_bytes += math.prod(shape) * dtype.itemsize
        if size_bytes > limits.message_bytes:
            raise Malformed(f"{what}: more than {limits.message_bytes} bytes with those before it")
        flat = _flat(tensor, dtype, math.prod(shape), _Source(left, bool(raws), limits, shared, what))
        found[tensor.name] = flat.reshape(shape)
    if next(left, None) is not None:
        raise Malformed("more raw contents than tensors")
    return found


class _Source(NamedTuple):
    """Where the elements of one tensor come from."""

    raws: Iterator[bytes]
    """Those that no tensor before it has taken."""
    any_raw: bool
    limits: WireLimits
    shared: ReadShared | None
    what: str


def _flat(tensor: Described, dtype: np.dtype[Any], items: int, source: _Source) -> Array:
    place = read_place(tensor.parameters, source.what, source.limits)
    if place is not None:
        return _from_region(place, dtype, items, source)
    if not source.any_raw:
        return from_contents(tensor.contents, dtype, items, source.what)
    if tensor.contents.ByteSize():  # MLServer sends them empty
        raise Malformed(f"{source.what}: elements one by one beside raw contents")
    data = next(source.raws, None)
    if data is None:
        raise Malformed(f"{source.what}: raw contents are missing")
    return _from_bytes(data, dtype, items, source.what)


def _from_region(place: SharedPlace, dtype: np.dtype[Any], items: int, source: _Source) -> Array:
    if source.shared is None:
        raise Malformed(f"{source.what}: shared memory is not spoken here")
    _fits(place.size, dtype, items, source.what)
    array = np.empty(items, dtype)
    source.shared(place, array)
    return _checked(array, source.what)


def _from_bytes(data: bytes, dtype: np.dtype[Any], items: int, what: str) -> Array:
    _fits(len(data), dtype, items, what)
    return _checked(np.frombuffer(data, dtype), what)


def _fits(size: int, dtype: np.dtype[Any], items: int, what: str) -> None:
    if size != items * dtype.itemsize:
        raise Malformed(f"{what}: {size} bytes, where its shape has {items * dtype.itemsize}")


def _checked(array: Array, what: str) -> Array:
    if array.dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
        raise Malformed(f"{what}: a truth value is neither 0 nor 1")
    return array


def _shape(tensor: Described, what: str, limits: WireLimits) -> tuple[int, ...]:
    shape = tuple(tensor.shape)
    if len(shape) > limits.dims:
        raise Malformed(f"{what}: {len(shape)} axes are more than the {limits.dims} that are allowed")
    if not all(0 <= size <= LARGEST_AXIS for size in shape):
        raise Malformed(f"{what}: an axis must have from 0 to {LARGEST_AXIS} elements")
    return shape


MOST_ELEMENTS = 1 << 20
"""Larger tensors come as raw bytes: elements are taken out of a message one after the other."""


def from_contents(contents: InferTensorContents, dtype: np.dtype[Any], items: int, what: str) -> Array:
    """A flat array of so many items; Malformed where there are not so many, or one does not fit its type."""
    if items > MOST_ELEMENTS:
        raise Malformed(f"{what}: {items} elements one by one are more than the {MOST_ELEMENTS} that are allowed")
    name = datatype(dtype)
    if name not in ELEMENTS:
        raise Malformed(f"{what}: {name} travels as raw bytes only")
    elements: Sequence[float] = getattr(contents, ELEMENTS[name])
    if len(elements) != items:
        raise Malformed(f"{what}: {len(elements)} elements, where its shape has {items}")
    try:
        return np.array(list(elements), dtype)
    except OverflowError:
        raise Malformed(f"{what}: an element does not fit {name}") from None


ELEMENTS: Mapping[str, str] = {
    "BOOL": "bool_contents",
    **dict.fromkeys(("INT8", "INT16", "INT32"), "int_contents"),
    "INT64": "int64_contents",
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), "uint_contents"),
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}
"""The field of a message that has the elements of a type."""
DTYPES: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(kind).newbyteorder("<")
    for name, kind in {
        "BOOL": np.bool_,
        "UINT8": np.uint8,
        "UINT16": np.uint16,
        "UINT32": np.uint32,
        "UINT64": np.uint64,
        "INT8": np.int8,
        "INT16": np.int16,
        "INT32": np.int32,
        "INT64": np.int64,
        "FP16": np.float16,
        "FP32": np.float32,
        "FP64": np.float64,
    }.items()
}
"""Little-endian, as bytes travel. Texts (BYTES) and BF16, which NumPy has not, are not spoken."""
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def datatype(dtype: np.dtype[Any]) -> str:
    """The protocol's name of a type.

    >>> datatype(np.dtype(np.float32))
    'FP32'
    """
    return _NAMES[dtype.newbyteorder("<")]


def dtype_of(name: str, what: str) -> np.dtype[Any]:
    """The type of this name; Malformed for another one, which names the tensor: ``what``."""
    dtype = DTYPES.get(name)
    if dtype is None:
        raise Malformed(f"{what}: the type {printable(name, 32)!r} is not one of {', '.join(DTYPES)}")
    return dtype
