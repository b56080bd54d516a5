from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from serving.catalogue.lookup import Catalogue
from serving.remote.client import server_channel
from serving.remote.client.address import BackendAddress
from serving.remote.client.backend_client import BackendClient, ClientTools
from tests.models import mean_model
from tests.serving.remote.v2_server import V2Server, addressed

Connected = Callable[..., AbstractAsyncContextManager[BackendClient]]


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return mean_model(tmp_path / "models")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers are asked often whether they are ready."""
    monkeypatch.setattr(server_channel, "PROBE_EVERY_S", 0.1)
    monkeypatch.setattr(server_channel, "PROBE_WITHIN_S", 1.5)


@pytest.fixture
def connected(catalogue: Catalogue) -> Connected:
    @asynccontextmanager
    async def client(*servers: V2Server, known: Catalogue = catalogue, **changes: Any) -> AsyncIterator[BackendClient]:
        """A client of a backend that has these servers."""

        async def targets(_: BackendAddress) -> dict[str, str]:
            return {server.target: f"127.0.0.1:{server.port}" for server in servers}

        tools = changes.pop("tools", ClientTools())
        tools = replace(tools, rng=Random(1), resolve=targets)
        found = BackendClient(addressed(servers[0], **changes), known, tools)
        await found.start()
        try:
            yield found
        finally:
            await found.close()

    return client
