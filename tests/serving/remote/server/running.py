"""A backend of the networks of a folder, served over gRPC on a free port of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc.aio
import numpy as np

from operators.detect.decoding import decode
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.common.tensors import Array
from serving.remote.peers import ServerTls
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.parameters import WireLimits
from serving.remote.protocol.service import MODEL_INFER, message_options
from serving.remote.protocol.tensors import add_input, read_outputs
from serving.remote.protocol.wire_card import INPUT
from serving.remote.server.admission import ServerLimits
from serving.remote.server.grpc_server import GrpcAddress, grpc_serving
from serving.remote.server.inference_service import InferenceService, ServedEngine
from serving.scheduling.limits import NetworkBounds
from tests.models import mean_model

WIRE = WireLimits()


@dataclass(frozen=True)
class Served:
    """A running server, and a channel to it."""

    backend: Backend
    service: InferenceService
    channel: grpc.aio.Channel
    port: int

    async def infer(self, request: pb.ModelInferRequest) -> dict[str, Array]:
        return read_outputs(await MODEL_INFER.on(self.channel)(request), WIRE)


@asynccontextmanager
async def served(
    catalogue: Catalogue,
    folder: Path,
    limits: ServerLimits | None = None,
    token: str | None = None,
    tls: ServerTls | None = None,
    backend: Backend | None = None,
) -> AsyncIterator[Served]:
    """``folder``: where variants lie."""
    limits = limits or ServerLimits()
    backend = backend or Backend(catalogue, bounds=NetworkBounds(threads=1), artefacts_dir=folder)
    service = InferenceService(ServedEngine(backend, catalogue, folder, decode), limits)
    await backend.start()
    try:
        async with grpc_serving(GrpcAddress("127.0.0.1:0", tls, token), service, limits) as port:
            service.admission.open()
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=message_options(WIRE)) as channel:
                yield Served(backend, service, channel, port)
    finally:
        await backend.stop()


@asynccontextmanager
async def means(tmp_path: Path, limits: ServerLimits | None = None) -> AsyncIterator[Served]:
    """The classifier of the dominant colour of 4 × 4 pictures."""
    async with served(mean_model(tmp_path / "models"), tmp_path / "cache", limits) as found:
        yield found


def pictures(items: int, height: int = 4, width: int = 4, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 256, (items, height, width, 3), np.uint8)


def asking(model: str, batch: Array, name: str = INPUT) -> pb.ModelInferRequest:
    request = pb.ModelInferRequest(model_name=model)
    add_input(request, name, batch)
    return request
