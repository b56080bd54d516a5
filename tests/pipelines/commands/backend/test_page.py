"""A backend over HTTP: the protocol, metrics and health at one address."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from operators.detect.decoding import decode
from operators.observer import Observers
from pipelines.commands.backend.doors import TlsPaths, doors
from pipelines.commands.backend.page import BackendPage
from pipelines.observe.metrics import families
from pipelines.observe.web.listen import Listen
from serving.backend import Backend
from serving.errors import SluiceError
from serving.remote.protocol.parameters import WireLimits
from serving.remote.server.admission import ServerLimits
from serving.remote.server.inference_service import InferenceService, ServedEngine
from tests.models import mean_model
from tests.serving.remote.server.running import asking, pictures
from tests.serving.remote.server.test_door import certificates

LIMITS = ServerLimits(wire=WireLimits(message_bytes=1 << 16))


async def test_requests_are_counted_by_how_they_ended_and_health_needs_no_token(tmp_path: Path) -> None:
    listen = Listen("127.0.0.1", 0, "a token of many letters")
    catalogue, page = mean_model(tmp_path), BackendPage(listen)
    backend = Backend(catalogue, artefacts_dir=tmp_path, observer=Observers(page.observers))
    service = InferenceService(ServedEngine(backend, catalogue, tmp_path, decode), LIMITS, ended=page.ended)
    await backend.start()
    try:
        async with page.serving(service, LIMITS.wire, None) as at, ClientSession(f"http://{at}") as http:
            service.admission.open()
            page.condition.waits_for = None
            for _ in range(2):
                await service.infer(asking("means", pictures(3)), None)
            with pytest.raises(SluiceError):
                await service.infer(asking("means", pictures(1, 5, 5)), None)
            said = {"inputs": [{"name": "images", "datatype": "UINT8", "shape": [1, 4, 4, 3], "data": [7] * 48}]}
            headers = {"Authorization": "Bearer a token of many letters"}
            for given, status in ((headers, 200), ({}, 401)):
                async with http.post("/v2/models/means/infer", json=said, headers=given) as answer:
                    assert answer.status == status
            async with http.get("/readyz") as answer:
                assert answer.status == 200
            async with http.get("/metrics", headers=headers) as answer:
                lines = (await answer.text()).splitlines()
    finally:
        await backend.stop()
    name = families.BACKEND_REQUESTS.sample
    assert f'{name}{{model="means",outcome="answered",variant=""}} 3.0' in lines
    assert f'{name}{{model="means",outcome="invalid_argument",variant=""}} 1.0' in lines
    assert f'{families.BACKEND_S.sample}_count{{model="means",variant=""}} 3.0' in lines
    assert f"{families.BACKEND_IN_FLIGHT.sample} 0.0" in lines
    assert f'{families.NETWORK_ITEMS.sample}{{model="means",variant=""}} 7.0' in lines


async def test_with_certificates_it_speaks_tls_and_asks_for_those_of_clients(tmp_path: Path) -> None:
    certificates(tmp_path)
    paths = TlsPaths(*(tmp_path / name for name in ("server.pem", "server.key", "ca.pem")))
    found = doors("127.0.0.1:0", "127.0.0.1:0", paths, None)
    assert found.certificates is not None
    catalogue, page = mean_model(tmp_path / "models"), BackendPage(Listen("127.0.0.1", 0))
    backend = Backend(catalogue, artefacts_dir=tmp_path)
    service = InferenceService(ServedEngine(backend, catalogue, tmp_path, decode), LIMITS)
    known, stranger = (ssl.create_default_context(cafile=str(tmp_path / "ca.pem")) for _ in range(2))
    known.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
    async with page.serving(service, LIMITS.wire, found.certificates.context()) as at:
        address = f"https://localhost:{at.port}/v2/health/live"
        async with ClientSession() as http:
            async with http.get(address, ssl=known) as answer:
                assert answer.status == 200
            with pytest.raises(ClientError):
                async with http.get(address, ssl=stranger) as answer:
                    await answer.read()
