"""The protocol over HTTP, from a server on a free port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from serving.remote.server.http_routes import http_routes
from tests.serving.remote.server.running import WIRE, Served, means, pictures

Client = TestClient[web.Request, web.Application]


@asynccontextmanager
async def client(tmp_path: Path) -> AsyncIterator[tuple[Served, Client]]:
    async with means(tmp_path) as server:
        app = web.Application(client_max_size=1 << 20)
        app.add_routes(http_routes(server.service, WIRE))
        async with TestClient(TestServer(app)) as found:
            yield server, found


async def test_health_metadata_and_the_repository(tmp_path: Path) -> None:
    async with client(tmp_path) as (server, http):

        async def get(path: str) -> tuple[int, object]:
            async with http.get(path) as answer:
                return answer.status, await answer.json() if await answer.read() else None

        assert await get("/v2/health/live") == (200, None)
        assert await get("/v2/health/ready") == (200, None)
        assert await get("/v2/models/means/versions/1/ready") == (200, None)
        assert (await get("/v2"))[0] == 200
        assert await get("/v2/models/means") == (
            200,
            {
                "name": "means",
                "versions": ["1"],
                "platform": "sluice",
                "inputs": [{"name": "images", "datatype": "UINT8", "shape": [-1, 4, 4, 3]}],
                "outputs": [{"name": "means", "datatype": "FP32", "shape": [-1, 3]}],
            },
        )
        status, config = await get("/v2/models/means/config")
        assert status == 200
        assert isinstance(config, dict)
        assert config["input"][0]["data_type"] == "TYPE_UINT8"
        async with http.post("/v2/repository/models/means/load") as answer:
            assert answer.status == 200
        async with http.post("/v2/repository/index") as answer:
            assert await answer.json() == [{"name": "means", "version": "1", "state": "READY", "reason": ""}]
        async with http.post("/v2/repository/models/means/unload") as answer:
            assert answer.status == 200
        assert not server.backend.is_loaded("means")
        assert (await get("/v2/models/means/stats"))[0] == 200
        assert (await get("/v2/models/stats"))[1] == {"model_stats": []}
        assert await get("/v2/models/nobody") == (404, {"error": "no network 'nobody' is served here"})
        server.service.admission.drain("it ends")
        assert await get("/v2/health/ready") == (503, None)


async def test_inference_in_json_and_in_bytes(tmp_path: Path) -> None:
    batch = pictures(2)
    async with client(tmp_path) as (_, http):
        said = {"inputs": [{"name": "images", "datatype": "UINT8", "shape": [2, 4, 4, 3], "data": batch.tolist()}]}
        async with http.post("/v2/models/means/infer", json=said) as answer:
            assert answer.status == 200
            (written,) = (await answer.json())["outputs"]
        size = {"binary_data_size": batch.nbytes}
        described = {"name": "images", "datatype": "UINT8", "shape": [2, 4, 4, 3], "parameters": size}
        json = aiohttp.payload.JsonPayload(
            {"inputs": [described], "outputs": [{"name": "means", "parameters": {"binary_data": True}}]}
        )
        body = bytes(json._value) + batch.tobytes()
        headers = {"Inference-Header-Content-Length": str(len(body) - batch.nbytes)}
        async with http.post("/v2/models/means/infer", data=body, headers=headers) as answer:
            assert answer.status == 200
            data, begin = await answer.read(), int(answer.headers["Inference-Header-Content-Length"])
    told = np.frombuffer(data[begin:], np.float32).reshape(2, 3)
    assert told.tolist() == np.asarray(written["data"], np.float32).reshape(written["shape"]).tolist()


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "why"),
    [
        ("means", b"{", {}, 400, "truncated"),
        ("means", b"{}", {"Inference-Header-Content-Length": "-1"}, 400, "must be a number of bytes"),
        ("means", b"{}", {"Inference-Header-Content-Length": "9" * 50}, 400, "must be a number of bytes"),
        ("means", b'{"inputs": []}', {}, 400, "given was none"),
        ("nobody", b'{"inputs": []}', {}, 404, "no network 'nobody'"),
        ("means/versions/2", b'{"inputs": []}', {}, 404, "served in version 1"),
    ],
)
async def test_a_request_that_is_none_is_one_line(
    tmp_path: Path, path: str, body: bytes, headers: dict[str, str], status: int, why: str
) -> None:
    async with (
        client(tmp_path) as (_, http),
        http.post(f"/v2/models/{path}/infer", data=body, headers=headers) as answer,
    ):
        assert answer.status == status
        assert why in (await answer.json())["error"]


async def test_a_body_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async with (
        client(tmp_path) as (_, http),
        http.post("/v2/models/means/infer", data=BytesIO(bytes(2 << 20))) as answer,
    ):
        assert answer.status == 413
