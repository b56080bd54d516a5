"""Requests that are not what they should be end in one status and one line each, and the backend goes on."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc.aio
import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving.errors import SluiceError
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import SERVICE
from serving.remote.protocol.tensors import add_input
from serving.remote.server.admission import ServerLimits
from tests.serving.remote.server.running import Served, asking, means, pictures

LIMITS = ServerLimits(wire=WireLimits(message_bytes=1 << 20))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    async with means(tmp_path, LIMITS) as found:
        yield found
        assert (await found.infer(asking("means", pictures(1))))["means"].shape == (1, 3)
        assert found.service.admission.requests == found.service.admission.input_bytes == 0


def changed(change: Callable[[Any], object]) -> pb.ModelInferRequest:
    request = asking("means", pictures(2))
    change(request)
    return request


def cut(request: Any) -> None:
    request.raw_input_contents[0] = request.raw_input_contents[0][:-1]


def claim(*shape: int) -> Callable[[Any], None]:
    def change(request: Any) -> None:
        del request.inputs[0].shape[:]
        request.inputs[0].shape.extend(shape)

    return change


def one_number(request: Any) -> None:
    del request.inputs[0].shape[:]
    request.raw_input_contents[0] = b"x"


def other_type(request: Any) -> None:
    request.inputs[0].datatype = "FP32"
    request.raw_input_contents[0] = bytes(4 * 96)


def in_region(request: Any) -> None:
    request.inputs[0].parameters["shared_memory_region"].string_param = "nobody"
    request.inputs[0].parameters["shared_memory_byte_size"].int64_param = 96
    del request.raw_input_contents[:]


WRONG: dict[str, tuple[pb.ModelInferRequest, str]] = {
    "another size": (asking("means", pictures(1, 5, 5)), "must be uint8 N × 4 × 4 × 3; was uint8 1 × 5 × 5 × 3"),
    "nothing": (asking("means", pictures(0)), "was uint8 0 × 4 × 4 × 3"),
    "no picture": (asking("means", np.zeros((1, 3), np.uint8)), "was uint8 1 × 3"),
    "one number": (changed(one_number), "must be uint8 N × 4 × 4 × 3; was uint8"),
    "another type": (changed(other_type), "was float32 2 × 4 × 4 × 3"),
    "another name": (asking("means", pictures(1), "pictures"), "has one input, images; given was pictures"),
    "no input": (changed(lambda request: request.ClearField("inputs")), "more raw contents than tensors"),
    "two inputs": (changed(lambda request: add_input(request, "more", pictures(1))), "has one input"),
    "cut short": (changed(cut), "95 bytes, where its shape has 96"),
    "contents missing": (changed(lambda request: request.ClearField("raw_input_contents")), "0 elements"),
    "contents left over": (changed(lambda request: request.raw_input_contents.append(b"x")), "more raw contents"),
    "a huge shape": (changed(claim(1 << 30, 4, 4, 3)), "more than 1048576 bytes"),
    "a negative shape": (changed(claim(-1, 4, 4, 3)), "an axis must have from 0"),
    "too many axes": (changed(claim(*[1] * 9)), "9 axes are more than the 8"),
    "an unknown output": (changed(lambda request: request.outputs.add(name="boxes")), "no output 'boxes'; there is me"),
    "an output twice": (
        changed(lambda request: [request.outputs.add(name="means") for _ in range(2)]),
        "asked for twice",
    ),
    "a wrong deadline": (
        changed(lambda request: setattr(request.parameters["deadline_ms"], "string_param", "soon")),
        "deadline_ms must be a number",
    ),
    "no deadline": (
        changed(lambda request: setattr(request.parameters["deadline_ms"], "double_param", float("nan"))),
        "deadline_ms must be a number",
    ),
    "a wrong id": (changed(lambda request: setattr(request, "id", "a\x1b[2J")), "the id of a request must have"),
    "a region of nobody": (
        changed(in_region),
        "this connection has not registered it",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_request_that_is_none_is_refused_in_one_line(server: Served, wrong: str) -> None:
    request, said = WRONG[wrong]
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.infer(request)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert said in (refused.value.details() or "")
    assert "\n" not in (refused.value.details() or "")


@pytest.mark.parametrize(
    "name", ["", "nobody", "../means", "means+cuts1", "means+4x4", "means@", "means@x-y", "é\0" * 500]
)
async def test_a_network_that_is_not_there_is_not_found(server: Served, name: str) -> None:
    request = asking("means", pictures(1))
    request.model_name = name
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.infer(request)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert len(refused.value.details() or "") <= 400


async def test_another_version_is_not_found(server: Served) -> None:
    request = asking("means", pictures(1))
    request.model_version = "2"
    with pytest.raises(grpc.aio.AioRpcError, match="served in version 1, not '2'"):
        await server.infer(request)


async def test_a_variant_that_is_not_built_says_so(server: Served) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="not built yet") as refused:
        await server.infer(asking("means@onnxruntime-int8", pictures(1)))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_message_that_is_too_long_is_refused_unread(server: Served) -> None:
    request = asking("means", np.zeros((1, 1500, 1500, 3), np.uint8))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.infer(request)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_bytes_that_are_no_message_are_refused(server: Served) -> None:
    call = server.channel.unary_unary(f"/{SERVICE}/ModelInfer")
    with pytest.raises(grpc.aio.AioRpcError, match="no ModelInferRequest") as refused:
        await call(b"\xff" * 100)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.aio.AioRpcError) as unknown:
        await server.channel.unary_unary(f"/{SERVICE}/Nothing")(b"")
    assert unknown.value.code() is grpc.StatusCode.UNIMPLEMENTED


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 200), byte=st.integers(0, 255), end=st.integers(0, 200))
async def test_a_damaged_request_is_answered_or_refused(server: Served, at: int, byte: int, end: int) -> None:
    data = bytearray(asking("means", pictures(1)).SerializeToString())
    data[at % len(data)] = byte
    with suppress(DecodeError):
        request = pb.ModelInferRequest.FromString(bytes(data[: len(data) - end % len(data)]))
        with suppress(SluiceError):
            await server.service.infer(request, None)


@pytest.mark.parametrize("data", [asking("nobody", pictures(20_000)).SerializeToString(), b"\xff" * 960_000])
async def test_what_was_refused_is_kept_by_nobody(server: Served, data: bytes) -> None:
    """Not until garbage is collected either: that may be many large messages later."""
    send = server.channel.unary_unary(f"/{SERVICE}/ModelInfer")
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(8):
            with pytest.raises(grpc.aio.AioRpcError):
                await send(data)
        assert tracemalloc.get_traced_memory()[0] < 4 * len(data)
    finally:
        tracemalloc.stop()
        gc.enable()
