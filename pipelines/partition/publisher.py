"""Publishes messages in order, however long the broker is away."""

from __future__ import annotations

import asyncio
import logging
import random
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidMessageError,
    InvalidTimestampError,
    InvalidTopicError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
    UnknownError,
    UnsupportedForMessageFormatError,
)

from operators.wire.mishaps import Mishaps
from serving.common.retrying import BROKER_BACKOFF, Backoff
from serving.errors import Unavailable

log = logging.getLogger(__name__)

TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
HOPELESS = (
    AuthenticationFailedError,
    TopicAuthorizationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidTopicError,
)
"""Errors that retrying cannot fix."""
REFUSED = (
    InvalidMessageError,
    InvalidTimestampError,
    UnknownError,  # also stands for answers that are newer than the client
    UnsupportedForMessageFormatError,
    AssertionError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
)
"""Errors by which the broker, or the client, refuses a single message."""
ATTEMPTS = 3
"""Number of refusals after which a message is given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Outgoing:
    topic: str
    key: bytes | None
    value: bytes
    timestamp_s: float
    instead: Callable[[], bytes] | None = None
    """Makes a smaller value, where the topic refuses this one for its size."""


Send = Callable[[Outgoing], Awaitable[Awaitable[object]]]
"""Hands a message to a producer; the inner awaitable is done when the broker has stored it."""


class Publisher:
    """Stores messages in the order given, per topic and key; tries again until the broker takes them.

    A message that is refused by itself, however short, is counted, logged and left out: the others go on.
    """

    def __init__(self, send: Send, backoff: Backoff = BROKER_BACKOFF) -> None:
        self._send = send
        self._backoff = backoff
        self._rng = random.Random()
        self._mishaps = Mishaps(log)
        self._refused = 0

    @property
    def storing(self) -> bool:
        """Whether the broker takes what is published; else it is tried again and again."""
        return self._refused == 0

    @property
    def left_out(self) -> int:
        """Number of messages that could not be published."""
        return self._mishaps.counts.total()

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Return when all are stored; raises ``Unavailable`` if retrying cannot help.

        All are sent before the first is awaited, so a batch costs one round trip. After a failure the first that
        failed and all behind it are sent again: a repeated message is harmless, a reordered one is not.
        """
        waiting = list(messages)
        logged, refusals, failures = False, 0, 0
        try:
            while waiting:
                done, error = await self._attempt(waiting)
                waiting = waiting[done:]
                if done:
                    refusals = failures = 0
                if error is None:
                    return
                if isinstance(error, TOO_LARGE):
                    waiting[:1] = self._smaller(waiting[0])
                    continue
                if isinstance(error, HOPELESS):
                    raise Unavailable(f"cannot publish to {waiting[0].topic}: {error}")
                if isinstance(error, REFUSED) and (refusals := refusals + 1) >= ATTEMPTS:
                    waiting[:1], refusals = self._without(waiting[0], error), 0
                    continue
                if isinstance(error, InvalidTimestampError):
                    waiting[0] = replace(waiting[0], timestamp_s=time.time())
                if not logged:
                    log.warning(
                        "cannot publish to %s (%s): keeping the frames in flight, trying again", waiting[0].topic, error
                    )
                    logged, self._refused = True, self._refused + 1
                await asyncio.sleep(self._backoff.delay_s(failures, self._rng))
                failures += 1
        finally:
            self._refused -= logged

    def _smaller(self, message: Outgoing) -> list[Outgoing]:
        """The message with its shorter value; none where that was refused as well."""
        size = len(message.value)
        if message.instead is None:
            remedy = "raise its max.message.bytes"
            self._mishaps.note("a message was left out", f"topic {message.topic} refuses {size} bytes: {remedy}")
            return []
        log.warning("topic %s refuses a message of %d bytes: sending a shorter one", message.topic, size)
        return [replace(message, value=message.instead(), instead=None)]

    def _without(self, message: Outgoing, error: BaseException) -> list[Outgoing]:
        said = f"topic {message.topic} refuses it: {type(error).__name__}: {error}"
        self._mishaps.note("a message was left out", said)
        return []

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
