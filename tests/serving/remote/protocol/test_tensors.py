from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from serving.common.tensors import Array
from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import ModelInferRequest, ModelInferResponse
from serving.remote.protocol.parameters import SharedPlace, WireLimits
from serving.remote.protocol.tensors import DTYPES, add_input, add_output, read_inputs, read_outputs

LIMITS = WireLimits(message_bytes=1 << 16)
ANY = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: arrays.arrays(DTYPES[name], arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)


def sent(request: ModelInferRequest) -> ModelInferRequest:
    return ModelInferRequest.FromString(request.SerializeToString())


@given(st.lists(ANY, max_size=4))
def test_arrays_come_back_bit_for_bit(given: list[Array]) -> None:
    request, response = ModelInferRequest(), ModelInferResponse()
    for place, array in enumerate(given):
        add_input(request, f"t{place}", array)
        add_output(response, f"t{place}", array)
    for found in (read_inputs(sent(request), LIMITS, None), read_outputs(response, LIMITS)):
        assert list(found) == [f"t{place}" for place in range(len(given))]
        for array, back in zip(given, found.values(), strict=True):
            assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_an_array_that_is_turned_travels_in_its_own_order() -> None:
    request = ModelInferRequest()
    turned = np.arange(6, dtype=np.int32).reshape(2, 3).T
    add_input(request, "t", turned)
    assert read_inputs(request, LIMITS, None)["t"].tolist() == turned.tolist()


def one(datatype: str = "FP32", shape: tuple[int, ...] = (2,), raw: bytes | None = bytes(8), **typed: Any) -> Any:
    request = ModelInferRequest()
    tensor = request.inputs.add(name="t", datatype=datatype, shape=shape)
    for field, elements in typed.items():
        getattr(tensor.contents, field).extend(elements)
    if raw is not None:
        request.raw_input_contents.append(raw)
    return request


@pytest.mark.parametrize(
    ("datatype", "field", "elements"),
    [
        ("BOOL", "bool_contents", [True, False]),
        ("INT8", "int_contents", [-128, 127]),
        ("INT32", "int_contents", [-1, 1]),
        ("INT64", "int64_contents", [-(1 << 63), 1]),
        ("UINT8", "uint_contents", [0, 255]),
        ("UINT64", "uint64_contents", [0, (1 << 64) - 1]),
        ("FP32", "fp32_contents", [0.5, -2.0]),
        ("FP64", "fp64_contents", [0.1, -2.0]),
    ],
)
def test_elements_one_by_one_are_read(datatype: str, field: str, elements: list[Any]) -> None:
    found = read_inputs(sent(one(datatype, raw=None, **{field: elements})), LIMITS, None)["t"]
    assert found.dtype == DTYPES[datatype]
    assert found.tolist() == elements


def twice() -> ModelInferRequest:
    request: ModelInferRequest = one()
    request.inputs.append(request.inputs[0])
    request.raw_input_contents.append(bytes(8))
    return request


def more_raw() -> ModelInferRequest:
    request: ModelInferRequest = one()
    request.raw_input_contents.append(b"")
    return request


def in_region(**parameters: Any) -> ModelInferRequest:
    request: ModelInferRequest = one(raw=None)
    for name, value in parameters.items():
        setattr(request.inputs[0].parameters[name], "string_param" if isinstance(value, str) else "int64_param", value)
    return request


def many() -> ModelInferRequest:
    request = ModelInferRequest()
    for place in range(17):
        add_input(request, str(place), np.zeros(1))
    return request


def sum_too_large() -> ModelInferRequest:
    request = ModelInferRequest()
    for place in range(3):
        add_input(request, str(place), np.zeros(1 << 15, np.uint8))
    return request


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: one("FP31"), "the type 'FP31' is not one of"),
        (lambda: one("BYTES"), "the type 'BYTES' is not one of"),
        (lambda: one(raw=bytes(7)), "7 bytes, where its shape has 8"),
        (lambda: one(shape=(-1,)), "an axis must have from 0"),
        (lambda: one(shape=(1 << 40, 0)), "an axis must have from 0"),
        (lambda: one(shape=(1 << 30, 1 << 30)), "more than 65536 bytes"),
        (lambda: one(shape=(1,) * 9), "9 axes"),
        (lambda: one("BOOL", raw=b"\x02\x01"), "a truth value is neither"),
        (lambda: one(raw=None), "0 elements, where its shape has 2"),
        (lambda: one("UINT8", raw=None, uint_contents=[1, 256]), "does not fit UINT8"),
        (lambda: one("UINT8", shape=(1 << 21,), raw=None), "more than 65536 bytes"),
        (lambda: one("FP16", raw=None), "raw bytes only"),
        (lambda: one(fp32_contents=[1.0, 2.0]), "beside raw contents"),
        (lambda: in_region(shared_memory_region="r", shared_memory_byte_size=8), "shared memory is not spoken"),
        (lambda: in_region(shared_memory_region="r"), "shared_memory_byte_size be given"),
        (lambda: in_region(shared_memory_region=7, shared_memory_byte_size=8), "must be a name"),
        (lambda: in_region(shared_memory_region="", shared_memory_byte_size=8), "printable characters"),
        (lambda: in_region(shared_memory_region="r", shared_memory_byte_size=-1), "whole number"),
        (twice, "comes twice"),
        (more_raw, "more raw contents"),
        (many, "17 tensors"),
        (sum_too_large, "tensor '2': more than 65536 bytes with those before it"),
    ],
)
def test_what_is_not_as_it_should_be_is_refused(make: Callable[[], ModelInferRequest], says: str) -> None:
    with pytest.raises(Malformed, match=says):
        read_inputs(make(), LIMITS, None)


@pytest.mark.parametrize("name", ["", "x" * 513, "a\x1b[2J"])
def test_names_are_short_and_printable(name: str) -> None:
    request = ModelInferRequest()
    request.inputs.add(name=name, datatype="FP32")
    with pytest.raises(Malformed, match="the name of a tensor must have"):
        read_inputs(request, LIMITS, None)


def test_many_elements_one_by_one_are_refused() -> None:
    with pytest.raises(Malformed, match="2097152 elements one by one"):
        read_inputs(one("UINT8", shape=(1 << 21,), raw=None), WireLimits(), None)


class Memory:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, place: SharedPlace, into: Array) -> None:
        part = self.data[place.offset : place.offset + place.size]
        into[:] = np.frombuffer(part, into.dtype)


def test_tensors_in_shared_memory_take_no_raw_contents() -> None:
    first, second = np.arange(3, dtype=np.float32), np.arange(2, dtype=np.int64)
    request = ModelInferRequest()
    add_input(request, "first", first, SharedPlace("r", 4, 12))
    add_input(request, "second", second)
    found = read_inputs(sent(request), LIMITS, Memory(bytes(4) + first.tobytes()).read)
    assert found["first"].tolist() == first.tolist()
    assert found["second"].tolist() == second.tolist()


def test_a_place_of_another_size_than_the_shape_is_refused() -> None:
    request = ModelInferRequest()
    add_input(request, "t", np.zeros(3, np.float32), SharedPlace("r", 0, 16))
    with pytest.raises(Malformed, match="16 bytes, where its shape has 12"):
        read_inputs(request, LIMITS, Memory(bytes(16)).read)


@given(st.binary(max_size=200))
def test_whatever_bytes_come_one_error_is_raised(data: bytes) -> None:
    request = one(raw=None)
    try:
        request.MergeFromString(data)
    except DecodeError:
        return
    with contextlib.suppress(Malformed):
        read_inputs(request, LIMITS, None)


def test_typed_contents_that_are_empty_do_no_harm_beside_raw_ones() -> None:
    request = one(raw=np.array([1.0, 2.0], np.float32).tobytes())
    request.inputs[0].contents.SetInParent()
    assert read_inputs(sent(request), LIMITS, None)["t"].tolist() == [1.0, 2.0]
