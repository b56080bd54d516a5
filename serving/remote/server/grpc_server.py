"""The protocol over gRPC: who may call, what is answered, where the server listens, and how long a message may be."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from serving.errors import BadInput, SluiceError
from serving.remote.peers import ServerTls
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol import service as rpcs
from serving.remote.protocol.service import Rpc, handlers, message_options, refused
from serving.remote.server.admission import ServerLimits
from serving.remote.server.inference_service import InferenceService
from serving.remote.server.refusals import refusal
from serving.remote.server.registered_regions import RegisteredRegions

if TYPE_CHECKING:
    from serving.remote.protocol.service import Context, Handler

log = logging.getLogger(__name__)

BESIDE = 32
"""Calls beside those for inference: what is ready, what is served."""
HANDSHAKE_MS, IDLE_MS = 5_000, 60_000
"""A connection that has not begun to speak the protocol, and one without a call, is closed: it takes a place."""
SWEPT_S = 10.0
"""Seconds from one look at shared memory to the next."""


@dataclass(frozen=True, slots=True)
class GrpcAddress:
    """Where to listen, and who may call."""

    at: str
    """``host:port`` or ``unix:/path``."""
    tls: ServerTls | None = None
    token: str | None = field(default=None, repr=False)


@asynccontextmanager
async def grpc_serving(address: GrpcAddress, service: InferenceService, limits: ServerLimits) -> AsyncIterator[int]:
    """Answer while the block runs, then end the calls that are left; yields the port, 0 for a socket.

    Raises BadInput where it cannot listen there, or the certificates cannot be used.
    """
    regions = RegisteredRegions(limits.regions, limits.wire)
    options = [
        *message_options(limits.wire),
        ("grpc.so_reuseport", 0),  # two on one port would share its calls
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),  # clients may ask whether the wire still holds
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.keepalive_time_ms", 60_000),  # clients that have gone without a word leave their place to others
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.http2.ping_timeout_ms", 20_000),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
        ("grpc.max_connection_idle_ms", IDLE_MS),
    ]
    server = grpc.aio.server(
        interceptors=[] if address.token is None else [TokenDoor(address.token)],
        options=options,
        maximum_concurrent_rpcs=limits.in_flight + BESIDE,
    )
    calls = inference_handlers(service, regions)
    server.add_generic_rpc_handlers((calls, health_handlers(lambda: service.admission.unready is None)))
    port = _bound(server, address)
    await server.start()
    sweeping = asyncio.create_task(_swept(regions))
    try:
        yield 0 if address.at.startswith("unix:") else port
    finally:
        sweeping.cancel()
        await server.stop(None)
        regions.close()


def _bound(server: grpc.aio.Server, address: GrpcAddress) -> int:
    try:
        with _private():
            if address.tls is None:
                return server.add_insecure_port(address.at)
            return server.add_secure_port(address.at, _credentials(address.tls))
    except RuntimeError:
        raise BadInput(
            f"cannot listen on {address.at}: it is in use or not an address of this machine, or the certificate and "
            "its key cannot be used; choose another address with --listen"
        ) from None


def _credentials(tls: ServerTls) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials([(tls.key, tls.certificate)], tls.client_ca, tls.client_ca is not None)


@contextmanager
def _private() -> Iterator[None]:
    """A socket in the file system is made for its user alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


async def _swept(regions: RegisteredRegions) -> None:
    while True:
        try:
            regions.sweep()
        except OSError as error:
            log.warning("shared memory cannot be looked through: %s", error.strerror)
        await asyncio.sleep(SWEPT_S)


AUTHORIZATION = "authorization"
HEALTH = "grpc.health.v1.Health"
"""The service that container engines ask, which have no token."""
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
"""The answers of its Check: field 1, the status, is 1 or 2."""


class TokenDoor(grpc.aio.ServerInterceptor):
    """Refuses calls without the token before their messages are read."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        if handler_call_details.method.startswith(f"/{HEALTH}/") or self._knows(handler_call_details):
            return await continuation(handler_call_details)
        return grpc.stream_stream_rpc_method_handler(_refuse)

    def _knows(self, details: grpc.HandlerCallDetails) -> bool:
        given = [value for key, value in details.invocation_metadata if key == AUTHORIZATION]
        said = given[0] if len(given) == 1 else ""
        return hmac.compare_digest(said if isinstance(said, bytes) else said.encode(), self._expected)


def health_handlers(is_ready: Callable[[], bool]) -> grpc.GenericRpcHandler:
    """The Check of gRPC's own protocol of health, for all services alike."""

    async def check(data: bytes, context: Context) -> bytes:
        return SERVING if is_ready() else NOT_SERVING

    return grpc.method_handlers_generic_handler(HEALTH, {"Check": grpc.unary_unary_rpc_method_handler(check)})


async def _refuse(questions: Iterable[Any], context: Context) -> None:
    await context.abort(
        grpc.StatusCode.UNAUTHENTICATED, "give the backend's token as metadata: authorization, Bearer and the token"
    )


Question = TypeVar("Question", bound=Message)
Reply = TypeVar("Reply", bound=Message)


def inference_handlers(service: InferenceService, regions: RegisteredRegions) -> grpc.GenericRpcHandler:
    """All calls that are answered."""

    async def infer(question: pb.ModelInferRequest, peer: str) -> pb.ModelInferResponse:
        return await service.infer(question, regions.of(peer))

    of_anyone: list[tuple[Rpc[Any, Any], Callable[[Any], Awaitable[Any]]]] = [
        (rpcs.SERVER_LIVE, service.server_live),
        (rpcs.SERVER_READY, service.server_ready),
        (rpcs.SERVER_METADATA, service.server_metadata),
        (rpcs.MODEL_READY, service.model_ready),
        (rpcs.MODEL_METADATA, service.model_metadata),
        (rpcs.MODEL_CONFIG, service.model_config),
        (rpcs.MODEL_STATISTICS, service.model_statistics),
        (rpcs.REPOSITORY_INDEX, service.repository_index),
        (rpcs.MODEL_LOAD, service.model_load),
        (rpcs.MODEL_UNLOAD, service.model_unload),
    ]
    return handlers(
        [
            *(_answered(rpc, _for_anyone(ask)) for rpc, ask in of_anyone),
            _answered(rpcs.MODEL_INFER, infer),
            _answered(rpcs.REGION_STATUS, regions.status),
            _answered(rpcs.REGION_REGISTER, regions.register),
            _answered(rpcs.REGION_UNREGISTER, regions.unregister),
        ]
    )


def _for_anyone(ask: Callable[[Question], Awaitable[Reply]]) -> Callable[[Question, str], Awaitable[Reply]]:
    return lambda question, peer: ask(question)


def _answered(rpc: Rpc[Question, Reply], behaviour: Callable[[Question, str], Awaitable[Reply]]) -> tuple[str, Handler]:
    """One call; ``behaviour`` is given the question and the address that it comes from."""

    async def answer(question: Question, context: Context) -> Reply:
        try:
            return await behaviour(question, context.peer())
        except SluiceError as error:
            status, line = refusal(error)
        except Exception:
            log.exception("%s failed", rpc.name)
            status, line = "INTERNAL", "the call failed: the backend's log says why"
        return refused(context, grpc.StatusCode[status], line, rpc.reply)

    return rpc.answered_by(answer)
