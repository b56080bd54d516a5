"""What is served, and what is loaded: metadata, cards, the repository, statistics."""

from __future__ import annotations

from pathlib import Path

import grpc.aio
import pytest

from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol import service as rpcs
from serving.remote.protocol.wire_card import PLATFORM, read_card
from serving.remote.server.admission import ServerLimits
from tests.models import yolox_nano
from tests.serving.remote.server.running import WIRE, asking, means, pictures, served


def shapes(said: pb.ModelMetadataResponse) -> dict[str, tuple[str, list[int]]]:
    return {each.name: (each.datatype, [*each.shape]) for each in (*said.inputs, *said.outputs)}


async def test_a_network_is_described_with_its_card_and_not_loaded_for_it(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        said = await rpcs.MODEL_METADATA.on(server.channel)(pb.ModelMetadataRequest(name="means"))
        config = await rpcs.MODEL_CONFIG.on(server.channel)(pb.ModelConfigRequest(name="means", version="1"))
        card = server.backend.card("means")
        assert not server.backend.is_loaded("means")
    assert (said.name, [*said.versions], said.platform) == ("means", ["1"], PLATFORM)
    assert shapes(said) == {"images": ("UINT8", [-1, 4, 4, 3]), "means": ("FP32", [-1, 3])}
    assert read_card(config.config, WIRE) == card
    assert [*config.config.input[0].dims] == [4, 4, 3]


async def test_a_detector_is_described_by_its_boxes_and_a_variant_by_its_own_input(
    tmp_path: Path, data_dir: Path
) -> None:
    async with served(yolox_nano(tmp_path / "models", data_dir), tmp_path) as server:
        ask = rpcs.MODEL_METADATA.on(server.channel)
        said = shapes(await ask(pb.ModelMetadataRequest(name="yolox-nano")))
        small = shapes(await ask(pb.ModelMetadataRequest(name="yolox-nano@onnxruntime-fp32-size320")))
    assert said == {
        "images": ("UINT8", [-1, 416, 416, 3]),
        "boxes": ("FP32", [-1, -1, 4]),
        "scores": ("FP32", [-1, -1]),
        "classes": ("INT32", [-1, -1]),
        "counts": ("INT32", [-1]),
    }
    assert small["images"] == ("UINT8", [-1, 320, 320, 3])


async def test_networks_are_loaded_and_given_back_when_they_are_asked_to_be(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        index, named = rpcs.REPOSITORY_INDEX.on(server.channel), {"model_name": "means"}

        async def states(ready: bool = False) -> list[tuple[str, str]]:
            said = await index(pb.RepositoryIndexRequest(ready=ready))
            return [(each.name, each.state) for each in said.models]

        assert await states() == [("means", "UNAVAILABLE")]
        assert await states(ready=True) == []
        assert (await rpcs.MODEL_READY.on(server.channel)(pb.ModelReadyRequest(name="means"))).ready
        await rpcs.MODEL_LOAD.on(server.channel)(pb.RepositoryModelLoadRequest(**named))
        assert await states(ready=True) == [("means", "READY")]
        await rpcs.MODEL_UNLOAD.on(server.channel)(pb.RepositoryModelUnloadRequest(**named))
        assert await states() == [("means", "UNAVAILABLE")]
        assert (await server.infer(asking("means", pictures(1))))["means"].shape == (1, 3)
        with pytest.raises(grpc.aio.AioRpcError, match="no network 'nobody'"):
            await rpcs.MODEL_LOAD.on(server.channel)(pb.RepositoryModelLoadRequest(model_name="nobody"))


async def test_a_variant_is_said_to_be_loaded_though_nobody_has_asked_what_it_is(tmp_path: Path) -> None:
    """As where a placement had it loaded: workers ask a backend only once it says so."""
    async with served(Catalogue([SHIPPED]), tmp_path) as server:
        variant = "street-kind@onnxruntime-fp32-batch2"
        await server.backend.load(variant)
        said = await rpcs.REPOSITORY_INDEX.on(server.channel)(pb.RepositoryIndexRequest(ready=True))
        assert [(each.name, each.state) for each in said.models] == [(variant, "READY")]
        await server.backend.unload(variant)
        said = await rpcs.REPOSITORY_INDEX.on(server.channel)(pb.RepositoryIndexRequest())
        assert {(each.name, each.state) for each in said.models} == {
            (name, "UNAVAILABLE") for name in Catalogue([SHIPPED]).names()
        }


async def test_more_networks_than_are_served_are_refused(tmp_path: Path) -> None:
    async with served(Catalogue([SHIPPED]), tmp_path, ServerLimits(networks=1)) as server:
        ask = rpcs.MODEL_READY.on(server.channel)
        assert (await ask(pb.ModelReadyRequest(name="street-kind"))).ready
        with pytest.raises(grpc.aio.AioRpcError, match="1 networks and variants are served, and no more are"):
            await ask(pb.ModelReadyRequest(name="street-kind@onnxruntime-fp32-batch2"))
        assert (await ask(pb.ModelReadyRequest(name="street-kind"))).ready


async def test_a_server_tells_what_it_is_and_what_was_asked(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        said = await rpcs.SERVER_METADATA.on(server.channel)(pb.ServerMetadataRequest())
        live = await rpcs.SERVER_LIVE.on(server.channel)(pb.ServerLiveRequest())
        await server.infer(asking("means", pictures(3)))
        with pytest.raises(grpc.aio.AioRpcError):
            await server.infer(asking("means", pictures(1, 7, 7)))
        (of_one,) = (
            await rpcs.MODEL_STATISTICS.on(server.channel)(pb.ModelStatisticsRequest(name="means"))
        ).model_stats
        of_all = await rpcs.MODEL_STATISTICS.on(server.channel)(pb.ModelStatisticsRequest())
    assert live.live
    assert said.name == "sluice"
    assert {"model_configuration", "model_repository", "system_shared_memory"} <= {*said.extensions}
    assert (of_one.inference_count, of_one.inference_stats.success.count, of_one.inference_stats.fail.count) == (
        3,
        1,
        1,
    )
    assert of_one.inference_stats.success.ns > 0
    assert [*of_all.model_stats] == [of_one]
