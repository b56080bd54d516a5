"""Shared memory between a client and a backend of one machine: owned, checked at each use, and swept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc.aio
import numpy as np
import pytest

from serving.errors import Malformed
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol import service as rpcs
from serving.remote.protocol.owned_region import OwnedRegion, create
from serving.remote.protocol.parameters import SharedPlace, WireLimits, put_place
from serving.remote.protocol.region_file import FOLDER
from serving.remote.protocol.tensors import add_input
from serving.remote.server.registered_regions import RegisteredRegions
from tests.serving.remote.server.running import Served, means, pictures


@pytest.fixture
def region() -> Iterator[OwnedRegion]:
    made = create(4096)
    yield made
    (FOLDER / made.name).unlink(missing_ok=True)


async def register(channel: grpc.aio.Channel, region: OwnedRegion, size: int = 4096, offset: int = 0) -> None:
    question = pb.SystemSharedMemoryRegisterRequest(
        name=region.name, key=f"/{region.name}", offset=offset, byte_size=size
    )
    await rpcs.REGION_REGISTER.on(channel)(question)


def asking(batch: np.ndarray, place: SharedPlace) -> pb.ModelInferRequest:  # type: ignore[type-arg]
    request = pb.ModelInferRequest(model_name="means")
    add_input(request, "images", batch, place)
    return request


async def held(server: Served) -> int:
    return len((await rpcs.REGION_STATUS.on(server.channel)(pb.SystemSharedMemoryStatusRequest())).regions)


async def test_pictures_and_answers_lie_in_a_region(tmp_path: Path, region: OwnedRegion) -> None:
    batch = pictures(2)
    async with means(tmp_path) as server:
        region.write(64, batch)
        await register(server.channel, region, 4000, 64)
        request = asking(batch, SharedPlace(region.name, 0, 96))
        put_place(request.outputs.add(name="means").parameters, SharedPlace(region.name, 1000, 100))
        answer = await rpcs.MODEL_INFER.on(server.channel)(request)
        told = np.empty((2, 3), np.float32)
        region.read(1064, told)
        assert answer.outputs[0].parameters["shared_memory_byte_size"].int64_param == 24
        assert not answer.raw_output_contents
        status = await rpcs.REGION_STATUS.on(server.channel)(pb.SystemSharedMemoryStatusRequest(name=region.name))
        assert (status.regions[region.name].offset, status.regions[region.name].byte_size) == (64, 4000)
        await rpcs.REGION_UNREGISTER.on(server.channel)(pb.SystemSharedMemoryUnregisterRequest())
        assert await held(server) == 0
    assert np.allclose(told, batch.mean(axis=(1, 2)), atol=1e-3)


async def test_a_region_belongs_to_the_connection_that_registered_it(tmp_path: Path, region: OwnedRegion) -> None:
    async with means(tmp_path) as server:
        await register(server.channel, region)
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=options) as other:
            with pytest.raises(grpc.aio.AioRpcError, match="this connection has not registered it"):
                await rpcs.MODEL_INFER.on(other)(asking(pictures(1), SharedPlace(region.name, 0, 48)))
            await rpcs.REGION_UNREGISTER.on(other)(pb.SystemSharedMemoryUnregisterRequest())
            seen = await rpcs.REGION_STATUS.on(other)(pb.SystemSharedMemoryStatusRequest())
            assert not seen.regions
        assert await held(server) == 1


LIES: dict[str, tuple[Callable[[OwnedRegion], SharedPlace], str]] = {
    "behind the end": (lambda region: SharedPlace(region.name, 4090, 48), "4096 bytes are registered, 48 from 4090"),
    "far away": (lambda region: SharedPlace(region.name, 1 << 40, 48), "bytes are registered"),
    "too small": (lambda region: SharedPlace(region.name, 0, 47), "47 bytes, where its shape has 48"),
    "unknown": (lambda region: SharedPlace("nobody", 0, 48), "has not registered it"),
    "no name": (lambda region: SharedPlace("", 0, 48), "must have 1 to 512"),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_place_that_is_not_there_is_refused(tmp_path: Path, region: OwnedRegion, lie: str) -> None:
    place, said = LIES[lie]
    async with means(tmp_path) as server:
        await register(server.channel, region)
        with pytest.raises(grpc.aio.AioRpcError, match=said) as refused:
            await rpcs.MODEL_INFER.on(server.channel)(asking(pictures(1), place(region)))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_region_that_was_cut_short_is_refused_and_the_backend_goes_on(
    tmp_path: Path, region: OwnedRegion
) -> None:
    async with means(tmp_path) as server:
        await register(server.channel, region)
        os.truncate(FOLDER / region.name, 10)
        with pytest.raises(grpc.aio.AioRpcError, match="10 bytes, where 48 from 0 on are used"):
            await rpcs.MODEL_INFER.on(server.channel)(asking(pictures(1), SharedPlace(region.name, 0, 48)))
        small = asking(pictures(1), SharedPlace(region.name, 0, 48))
        small.inputs[0].parameters.clear()
        small.raw_input_contents.append(pictures(1).tobytes())
        assert (await server.infer(small))["means"].shape == (1, 3)


@pytest.mark.parametrize(
    ("key", "size", "said"),
    [
        ("/etc/passwd", 1, "the key of a region is sluice-"),
        ("/../etc/passwd", 1, "the key of a region is sluice-"),
        ("/sluice-none", 1, "cannot be opened"),
        (None, 4097, "it has 4096 bytes, not 4097 from 0 on"),
        (None, 0, "it has 4096 bytes, not 0"),
        (None, (1 << 64) - 1, "must be at most"),
    ],
)
async def test_a_region_that_is_not_as_is_said_is_not_registered(
    tmp_path: Path, region: OwnedRegion, key: str | None, size: int, said: str
) -> None:
    question = pb.SystemSharedMemoryRegisterRequest(name="mine", key=key or f"/{region.name}", byte_size=size)
    async with means(tmp_path) as server:
        with pytest.raises(grpc.aio.AioRpcError, match=said):
            await rpcs.REGION_REGISTER.on(server.channel)(question)
        assert await held(server) == 0


ME, YOU = "ipv4:127.0.0.1:4000", "ipv4:127.0.0.1:4001"


def question(region: OwnedRegion, name: str) -> pb.SystemSharedMemoryRegisterRequest:
    return pb.SystemSharedMemoryRegisterRequest(name=name, key=region.name, byte_size=16)


async def test_the_region_that_was_used_longest_ago_makes_room_and_names_are_taken_once(region: OwnedRegion) -> None:
    regions = RegisteredRegions(2, WireLimits())
    for name in ("a", "b"):
        await regions.register(question(region, name), ME)
    with pytest.raises(Malformed, match="one of this name already"):
        await regions.register(question(region, "a"), ME)
    mine = regions.of(ME)
    assert mine is not None
    mine.read(SharedPlace("a", 0, 4), np.empty(4, np.uint8))
    await regions.register(question(region, "c"), YOU)
    assert [*(await regions.status(pb.SystemSharedMemoryStatusRequest(), ME)).regions] == ["a"]
    with pytest.raises(Malformed, match="region b: this connection"):
        mine.read(SharedPlace("b", 0, 4), np.empty(4, np.uint8))
    with pytest.raises(Malformed, match="an output of 32 bytes does not fit 16"):
        mine.write(SharedPlace("a", 0, 16), np.zeros(4))
    regions.close()
    assert len(regions._all) == 0


async def test_what_its_owner_has_left_is_forgotten(region: OwnedRegion) -> None:
    regions = RegisteredRegions(4, WireLimits())
    await regions.register(question(region, "a"), ME)
    regions.sweep()
    assert len(regions._all) == 1
    region.close()
    regions.sweep()
    assert len(regions._all) == 0


async def test_clients_of_other_machines_have_none(region: OwnedRegion) -> None:
    regions = RegisteredRegions(4, WireLimits())
    assert regions.of("ipv4:10.0.0.7:4000") is None
    with pytest.raises(Malformed, match="for clients of this machine"):
        await regions.register(question(region, "mine"), "ipv4:10.0.0.7:4000")
    with pytest.raises(Malformed, match="for clients of this machine"):
        await regions.status(pb.SystemSharedMemoryStatusRequest(), "ipv4:10.0.0.7:4000")
