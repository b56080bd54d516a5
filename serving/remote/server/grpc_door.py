"""Who may call over gRPC: a token, compared in a time that tells nothing of it. Health is told to everybody."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

if TYPE_CHECKING:
    from serving.remote.protocol.service import Context, Handler

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
        """See ``grpc.aio.ServerInterceptor``."""
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
