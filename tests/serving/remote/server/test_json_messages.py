from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.errors import Malformed
from serving.remote.protocol.inference_pb2 import ModelInferResponse
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.tensors import add_output, read_inputs
from serving.remote.server.json_messages import MOST_VALUES, Asked, read_question, write_answer

LIMITS = WireLimits()
TENSOR = {"name": "t", "datatype": "UINT8", "shape": [2, 3], "data": [0, 1, 2, 253, 254, 255]}


def read(said: object, behind: bytes = b"") -> Asked:
    body = json.dumps(said).encode()
    return read_question("m", "1", body + behind, len(body), LIMITS)


def tensor(**changes: Any) -> dict[str, Any]:
    return {"inputs": [{key: value for key, value in (TENSOR | changes).items() if value is not None}]}


@pytest.mark.parametrize("data", [TENSOR["data"], [[0, 1, 2], [253, 254, 255]]])
def test_numbers_come_flat_or_as_the_shape_says(data: object) -> None:
    asked = read(tensor(data=data) | {"id": "x", "parameters": {"deadline_ms": 40.5, "droppable": True}})
    assert read_inputs(asked.request, LIMITS, None)["t"].tolist() == [[0, 1, 2], [253, 254, 255]]
    assert (asked.request.model_name, asked.request.model_version, asked.request.id) == ("m", "1", "x")
    assert asked.request.parameters["deadline_ms"].double_param == 40.5
    assert asked.request.parameters["droppable"].bool_param


def test_bytes_follow_the_json_in_the_order_of_the_tensors() -> None:
    first, second = np.arange(3, dtype=np.float32), np.array([True, False])
    inputs = [
        {"name": "a", "datatype": "FP32", "shape": [3], "parameters": {"binary_data_size": 12}},
        {"name": "b", "datatype": "INT64", "shape": [1], "data": [-7]},
        {"name": "c", "datatype": "BOOL", "shape": [2], "parameters": {"binary_data_size": 2}},
    ]
    asked = read({"inputs": inputs}, first.tobytes() + second.tobytes())
    found = read_inputs(asked.request, LIMITS, None)
    assert [found[name].tolist() for name in "abc"] == [[0.0, 1.0, 2.0], [-7], [True, False]]


def test_answers_are_json_or_bytes_as_they_are_wanted() -> None:
    answer = ModelInferResponse(model_name="m", model_version="1")
    add_output(answer, "a", np.array([[1.5, 2.0]], np.float32))
    add_output(answer, "b", np.array([3], np.int32))
    some = read(tensor() | {"outputs": [{"name": "a", "parameters": {"binary_data": True}}, {"name": "b"}]})
    data, json_bytes = write_answer(answer, some, LIMITS)
    assert json_bytes is not None
    first, second = json.loads(data[:json_bytes])["outputs"]
    assert first == {"name": "a", "datatype": "FP32", "shape": [1, 2], "parameters": {"binary_data_size": 8}}
    assert second == {"name": "b", "datatype": "INT32", "shape": [1], "data": [3]}
    assert np.frombuffer(data[json_bytes:], np.float32).tolist() == [1.5, 2.0]
    plain, all_json = write_answer(answer, read(tensor()), LIMITS)
    assert all_json is None
    assert [each["data"] for each in json.loads(plain)["outputs"]] == [[1.5, 2.0], [3]]
    every, size = write_answer(answer, read(tensor() | {"parameters": {"binary_data_output": True}}), LIMITS)
    assert len(every) == (size or 0) + 12


WRONG: list[tuple[object, bytes, str]] = [
    ([], b"", "Expected `object`"),
    ({}, b"", "missing required field `inputs`"),
    (tensor(data=None), b"", "it has no data"),
    (tensor(data=[0] * 5), b"", "neither flat nor nested as its shape says"),
    (tensor(data=[[0, 1, 2], [3, 4]]), b"", "neither flat nor nested as its shape says"),
    (tensor(data=[[0, 1, 2], 3]), b"", "neither flat nor nested as its shape says"),
    (tensor(data=[[[0], 1, 2], [3, 4, 5]]), b"", "not all of its type"),
    (tensor(data=[0, 1, 2, 3, 4, 256]), b"", "does not fit its type"),
    (tensor(data=[0, 1, 2, 3, 4, -1]), b"", "does not fit its type"),
    (tensor(data=[0, 1, 2, 3, 4, 1e300], datatype="FP32"), b"", "does not fit its type"),
    (tensor(data=[0, 1, 2, 3, 4, 70_000], datatype="FP16"), b"", "does not fit its type"),
    (tensor(data=[0, 1, 2, 3, 4, 5.5]), b"", "not all of its type"),
    (tensor(data=["a"] * 6), b"", "not all of its type"),
    (tensor(data=[True] * 6), b"", "not all of its type"),
    (tensor(shape=[-2, -3]), b"", "its shape makes no sense"),
    (tensor(shape=[1] * 9), b"", "length <= 8"),
    (tensor(shape=[1 << 20, 2]), b"", "more than the 1048576 that are taken as JSON"),
    (tensor(shape=[1 << 70]), b"", "its shape makes no sense"),
    (tensor(datatype="BYTES"), b"", "the type 'BYTES' is not one of"),
    (tensor(datatype="X" * 600), b"", "length <= 512"),
    (tensor(data=None, parameters={"binary_data_size": 7}), b"123456", "is not what follows the JSON"),
    (tensor(data=None, parameters={"binary_data_size": -1}), b"", "is not what follows the JSON"),
    (tensor(data=None, parameters={"binary_data_size": True}), b"1", "is not what follows the JSON"),
    (tensor(data=None, parameters={"binary_data_size": 6}), b"1234567", "1 bytes behind the last tensor"),
    (tensor(parameters={"binary_data_size": 6}), b"123456", "data beside binary_data_size"),
    (tensor(parameters={"much": 1 << 64}), b"", "too large a number"),
    (tensor(parameters={"list": []}), b"", "Expected"),
    ({"inputs": [TENSOR] * 17}, b"", "length <= 16"),
]


@pytest.mark.parametrize(("said", "behind", "why"), WRONG)
def test_a_body_that_is_none_is_refused(said: object, behind: bytes, why: str) -> None:
    with pytest.raises(Malformed) as refused:
        read(said, behind)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("size", [0, 3, 10**11])
def test_json_that_is_not_as_long_as_was_said_is_refused(size: int) -> None:
    with pytest.raises(Malformed):
        read_question("m", "", b"{}", size, LIMITS)


@given(st.binary(max_size=200), st.integers(0, 250))
def test_whatever_comes_is_read_or_refused(body: bytes, size: int) -> None:
    with pytest.raises(Malformed):
        read_question("m", "", body, size, LIMITS)


@pytest.mark.parametrize("value", [b"[]", b"{}", b"1", b"null", b"[[1]]"])
def test_more_values_than_may_be_written_out_are_refused_before_they_take_memory(value: bytes) -> None:
    data = value + b"," + b",".join([value] * MOST_VALUES)
    body = b'{"inputs":[{"name":"t","datatype":"UINT8","shape":[1],"data":[%s]}]}' % data
    with pytest.raises(Malformed, match="values in the JSON: send tensors as bytes"):
        read_question("m", "1", body, len(body), LIMITS)
    few = b'{"inputs":[{"name":"t","datatype":"UINT8","shape":[2,3],"data":[0,1,2,3,4,5]}]}'
    behind = b"," * (2 * MOST_VALUES)  # bytes of tensors may be any
    with pytest.raises(Malformed, match="bytes behind the last tensor"):
        read_question("m", "1", few + behind, len(few), LIMITS)
