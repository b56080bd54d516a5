"""A small server of the Open Inference Protocol, in this process, that also fails and lies where a test tells it to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
import numpy as np

from serving.catalogue.cards import ModelCard
from serving.common.tensors import Array
from serving.errors import Malformed
from serving.remote.client.address import BackendAddress
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.asked import QUEUE
from serving.remote.protocol.membership import extension
from serving.remote.protocol.parameters import SharedPlace, WireLimits, set_parameter
from serving.remote.protocol.region_file import RegionFile, open_region
from serving.remote.protocol.service import (
    MODEL_CONFIG,
    MODEL_INFER,
    MODEL_METADATA,
    REGION_REGISTER,
    REPOSITORY_INDEX,
    SERVER_METADATA,
    SERVER_READY,
    handlers,
    message_options,
)
from serving.remote.protocol.tensors import add_output, datatype, read_inputs
from serving.remote.protocol.wire_card import INPUT, PLATFORM, put_card

LIMITS = WireLimits()
Run = Callable[[Array], Sequence[Array]]


@dataclass
class Network:
    """One that the server has."""

    run: Run
    input: tuple[str, str, Sequence[int]]
    outputs: Sequence[tuple[str, str, Sequence[int]]]
    platform: str = "other"
    card: ModelCard | None = None


def means_of_ours(card: ModelCard) -> Network:
    """A classifier of our backend: the mean of each channel, of pictures that come as bytes."""
    size = card.input

    def run(batch: Array) -> Sequence[Array]:
        return [batch.astype(np.float32).mean((1, 2))]

    shape = [-1, size.height, size.width, 3]
    outputs = [("means", "FP32", [-1, 3])]
    return Network(run, (INPUT, "UINT8", shape), outputs, PLATFORM, card)


def means_of_others() -> Network:
    """A classifier of another server: the mean of each channel, of float32 with the colours first."""

    def run(batch: Array) -> Sequence[Array]:
        return [batch.mean((2, 3), dtype=np.float32)]

    return Network(run, ("images", "FP32", [-1, 3, 4, 4]), [("means", "FP32", [-1, 3])])


@dataclass
class V2Server:
    """Serves networks until it is stopped; what it was asked lies in ``asked``."""

    networks: dict[str, Network]
    ready: bool = True
    delay_s: float = 0.0
    fails: grpc.StatusCode | None = None
    """Every inference fails with this."""
    spoil: Callable[[pb.ModelInferResponse], None] | None = None
    """Changes each answer before it is sent."""
    token: str | None = None
    queue: int | None = None
    shares_memory: bool = False
    process: str = ""
    """Its name in placements."""
    loaded: Sequence[str] = ()
    interceptors: list[grpc.aio.ServerInterceptor] = field(default_factory=list)
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    """Nothing is answered while it is not set."""
    asked: list[pb.ModelInferRequest] = field(default_factory=list)
    limits: list[float | None] = field(default_factory=list)
    """The seconds that each call had, None without a bound."""
    port: int = 0
    _regions: dict[str, RegionFile] = field(default_factory=dict)
    _server: grpc.aio.Server | None = None

    async def start(self, credentials: grpc.ServerCredentials | None = None) -> None:
        self.answering.set()
        options = [*message_options(LIMITS), ("grpc.so_reuseport", 0)]
        self._server = server = grpc.aio.server(interceptors=self.interceptors, options=options)
        calls = [
            SERVER_READY.answered_by(self._ready),
            SERVER_METADATA.answered_by(self._described),
            REPOSITORY_INDEX.answered_by(self._index),
            MODEL_METADATA.answered_by(self._metadata),
            MODEL_CONFIG.answered_by(self._config),
            MODEL_INFER.answered_by(self._infer),
        ]
        if self.shares_memory:
            calls.append(REGION_REGISTER.answered_by(self._register))
        server.add_generic_rpc_handlers([handlers(calls)])
        at = f"127.0.0.1:{self.port}"
        self.port = server.add_insecure_port(at) if credentials is None else server.add_secure_port(at, credentials)
        await server.start()

    async def stop(self) -> None:
        """As a process that is killed: calls under way are cut."""
        if self._server is not None:
            await self._server.stop(None)
        for region in self._regions.values():
            region.close()
        self._server, self._regions = None, {}

    @property
    def target(self) -> str:
        return f"ipv4:127.0.0.1:{self.port}"

    def read(self, place: SharedPlace, into: Array) -> None:
        """See ``ReadShared``."""
        if place.region not in self._regions:
            raise Malformed(f"there is no region {place.region}")
        self._regions[place.region].read(place.offset, into)

    async def _ready(self, question: pb.ServerReadyRequest, context: Any) -> pb.ServerReadyResponse:
        await self._admit(context)
        return pb.ServerReadyResponse(ready=self.ready)

    async def _admit(self, context: Any) -> None:
        await self.answering.wait()
        shown = dict(context.invocation_metadata()).get("authorization")
        if self.token is not None and shown != f"Bearer {self.token}":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no such token")

    async def _described(self, question: pb.ServerMetadataRequest, context: Any) -> pb.ServerMetadataResponse:
        return pb.ServerMetadataResponse(name="sluice", extensions=[extension(self.process)] if self.process else [])

    async def _index(self, question: pb.RepositoryIndexRequest, context: Any) -> pb.RepositoryIndexResponse:
        models = [pb.RepositoryIndexResponse.ModelIndex(name=name, state="READY") for name in self.loaded]
        return pb.RepositoryIndexResponse(models=models)

    async def _metadata(self, question: pb.ModelMetadataRequest, context: Any) -> pb.ModelMetadataResponse:
        await self._admit(context)
        network = await self._network(question.name, context)
        said = pb.ModelMetadataResponse(name=question.name, platform=network.platform)
        name, kind, shape = network.input
        said.inputs.add(name=name, datatype=kind, shape=shape)
        for name, kind, shape in network.outputs:
            said.outputs.add(name=name, datatype=kind, shape=shape)
        return said

    async def _config(self, question: pb.ModelConfigRequest, context: Any) -> pb.ModelConfigResponse:
        network = await self._network(question.name, context)
        answer = pb.ModelConfigResponse()
        if network.card is not None:
            put_card(answer.config, network.card)
        return answer

    async def _network(self, name: str, context: Any) -> Network:
        if name not in self.networks:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no model {name}")
        return self.networks[name]

    async def _register(
        self, question: pb.SystemSharedMemoryRegisterRequest, context: Any
    ) -> pb.SystemSharedMemoryRegisterResponse:
        self._regions[question.name] = open_region(question.key)
        return pb.SystemSharedMemoryRegisterResponse()

    async def _infer(self, question: pb.ModelInferRequest, context: Any) -> pb.ModelInferResponse:
        await self._admit(context)
        self.asked.append(question)
        self.limits.append(context.time_remaining())
        await asyncio.sleep(self.delay_s)
        await self._admit(context)
        if self.fails is not None:
            await context.abort(self.fails, "told to")
        network = await self._network(question.model_name, context)
        try:
            (batch,) = read_inputs(question, LIMITS, self.read).values()
        except Malformed as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        answer = pb.ModelInferResponse(model_name=question.model_name)
        for (name, kind, _), array in zip(network.outputs, network.run(batch), strict=True):
            assert kind in (datatype(array.dtype), "BYTES")
            add_output(answer, name, array)
        if self.queue is not None:
            set_parameter(answer.parameters, QUEUE, self.queue)
        if self.spoil is not None:
            self.spoil(answer)
        return answer


@asynccontextmanager
async def serving(*servers: V2Server) -> AsyncIterator[None]:
    """The servers run while the block does."""
    for server in servers:
        await server.start()
    try:
        yield
    finally:
        await asyncio.gather(*(server.stop() for server in servers))


def addressed(server: V2Server, **changes: Any) -> BackendAddress:
    """The address of a server that runs."""
    return BackendAddress("gpu", (f"grpc://127.0.0.1:{server.port}",), **changes)
