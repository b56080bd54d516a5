"""Messages out: stored in order, however long the broker is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidTopicError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from serving.errors import Unavailable

log = logging.getLogger(__name__)

RETRY_S = 1.0
TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
HOPELESS = (
    AuthenticationFailedError,
    TopicAuthorizationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidTopicError,
)
"""What no waiting mends."""


@dataclass(frozen=True, slots=True, eq=False)
class Outgoing:
    """A message to publish."""

    topic: str
    key: bytes | None
    value: bytes
    timestamp_s: float
    instead: Callable[[], bytes] | None = None
    """Makes a smaller value, where the topic refuses this one for its size."""


Send = Callable[[Outgoing], Awaitable[Awaitable[object]]]
"""Hands a message to a producer; the inner awaitable is done when the broker has stored it."""


class Publisher:
    """Stores messages in the order given, per topic and key; tries again until the broker takes them."""

    def __init__(self, send: Send, retry_s: float = RETRY_S) -> None:
        self._send = send
        self._retry_s = retry_s

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Return when all are stored; raises ``Unavailable`` where waiting cannot help.

        All are sent before the first is awaited, so a batch costs one round trip. After a failure the first that
        failed and all behind it are sent again: a repeated message is harmless, a reordered one is not.
        """
        waiting = list(messages)
        told = False
        while waiting:
            done, error = await self._attempt(waiting)
            waiting = waiting[done:]
            if error is None:
                return
            if isinstance(error, TOO_LARGE):
                waiting[0] = _smaller(waiting[0])
                continue
            if isinstance(error, HOPELESS):
                raise Unavailable(f"cannot publish to {waiting[0].topic}: {error}")
            if not told:
                log.warning(
                    "cannot publish to %s (%s): keeping the frames in flight, trying again", waiting[0].topic, error
                )
                told = True
            await asyncio.sleep(self._retry_s)

    async def _attempt(self, messages: Sequence[Outgoing]) -> tuple[int, BaseException | None]:
        """How many were stored before the first that was not, and why it was not."""
        attempts = [await self._begin(message) for message in messages]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        for index, outcome in enumerate(outcomes):
            if isinstance(outcome, BaseException):
                return index, outcome.__cause__ or outcome  # Faust wraps what aiokafka raised
        return len(messages), None

    async def _begin(self, message: Outgoing) -> Awaitable[object]:
        try:
            return await self._send(message)
        except Exception as error:
            failed: asyncio.Future[object] = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return failed


def _smaller(message: Outgoing) -> Outgoing:
    if message.instead is None:
        raise Unavailable(
            f"topic {message.topic} refuses a message of {len(message.value)} bytes: raise its max.message.bytes"
        )
    log.warning("topic %s refuses a message of %d bytes: sending a shorter one", message.topic, len(message.value))
    return Outgoing(message.topic, message.key, message.instead(), message.timestamp_s)
