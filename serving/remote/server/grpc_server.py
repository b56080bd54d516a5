"""The server itself over gRPC: where it listens, with which certificates, and how long a message may be."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import grpc
import grpc.aio

from serving.errors import BadInput
from serving.remote.protocol.service import message_options
from serving.remote.server.grpc_calls import inference_handlers
from serving.remote.server.grpc_door import TokenDoor, health_handlers
from serving.remote.server.inference_service import InferenceService
from serving.remote.server.region_calls import RegionCalls
from serving.remote.server.registered_regions import RegisteredRegions
from serving.remote.server.server_limits import ServerLimits

log = logging.getLogger(__name__)

BESIDE = 32
"""Calls beside those for inference: what is ready, what is served."""
HANDSHAKE_MS, IDLE_MS = 5_000, 60_000
"""A connection that has not begun to speak the protocol, and one without a call, is closed: it takes a place."""
SWEPT_S = 10.0
"""Seconds from one look at shared memory to the next."""


@dataclass(frozen=True, slots=True)
class ServerTls:
    """Certificates as PEM; the key shows in no ``repr``."""

    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None = None
    """Clients must have a certificate of these; None: they need none."""


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
    regions = RegisteredRegions(limits.regions)
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
    calls = inference_handlers(service, RegionCalls(regions, limits.wire))
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
