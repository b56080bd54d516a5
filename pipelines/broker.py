"""Clients of kafka-python, connected: a broker that is down is waited for, with a message and an end."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, KafkaTimeoutError, SaslAuthenticationFailedError, UnsupportedSaslMechanismError

from pipelines.settings import BrokerSettings
from serving.errors import BadInput, Unavailable

log = logging.getLogger(__name__)

Client = TypeVar("Client")

REFUSALS = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError)
ATTEMPT_MS = 2000
DAY_MS = 86_400_000


class _Producer(KafkaProducer):  # type: ignore[misc]
    """Closed by us. The library's own attempt at the end of the process throws if the broker is still away."""

    def __del__(self) -> None:
        """Nothing."""


def connect(
    kind: Callable[..., Client],
    settings: BrokerSettings,
    timeout_s: float,
    stop: threading.Event | None = None,
    **arguments: Any,
) -> Client:
    """Make a client, trying for ``timeout_s``, then raises ``Unavailable``; ``SystemExit(0)`` once ``stop`` is set."""
    heard = _listen()
    stop = stop or threading.Event()
    deadline = time.monotonic() + timeout_s
    told = False
    while not stop.is_set():
        attempt_ms = int(max(min((deadline - time.monotonic()) * 1000, ATTEMPT_MS), 100))
        try:
            return kind(**settings.kafka_python(), bootstrap_timeout_ms=attempt_ms, **arguments)
        except (KafkaError, OSError) as error:
            cause = heard.cause or str(error)
        if heard.refused:
            raise BadInput(_refusal(settings)) from None
        if time.monotonic() >= deadline:
            raise Unavailable(f"no broker answers at {settings.url} ({cause}): gave up after {timeout_s:g} s")
        if not told:
            log.warning("no broker answers at %s yet (%s): trying%s", settings.url, cause, _span(timeout_s))
            told = True
        stop.wait(0.1)
    raise SystemExit(0)


def _refusal(settings: BrokerSettings) -> str:
    return (
        f"the broker at {settings.url} refuses the user {settings.username!r} by {settings.sasl_mechanism}: check "
        "SLUICE_KAFKA_USERNAME, SLUICE_KAFKA_PASSWORD and SLUICE_KAFKA_SASL_MECHANISM"
    )


def _span(timeout_s: float) -> str:
    return "" if math.isinf(timeout_s) else f" for {timeout_s:g} s"


def admin(settings: BrokerSettings, timeout_s: float, stop: threading.Event | None = None) -> KafkaAdminClient:
    """A client for topics; close it."""
    return connect(KafkaAdminClient, settings, timeout_s, stop)


def frames_producer(settings: BrokerSettings, timeout_s: float, stop: threading.Event | None = None) -> KafkaProducer:
    """The producer that ``operators.publish.kafka_frames`` wants: in order, patient, not idempotent.

    kafka-python's idempotent producer is of no use after one message that the broker refuses for its size.
    """
    return connect(
        _Producer,
        settings,
        timeout_s,
        stop,
        acks="all",
        enable_idempotence=False,
        max_in_flight_requests_per_connection=1,
        max_request_size=64 << 20,  # the topic's limit decides, not this client's
        delivery_timeout_ms=DAY_MS,
        request_timeout_ms=10_000,
        max_block_ms=5000,
        reconnect_backoff_max_ms=1000,
        allow_auto_create_topics=False,
    )


def consumer(
    settings: BrokerSettings, timeout_s: float, stop: threading.Event | None = None, **arguments: Any
) -> KafkaConsumer:
    """A consumer without a group: it reads, and leaves no trace on the broker."""
    return connect(
        KafkaConsumer,
        settings,
        timeout_s,
        stop,
        group_id=None,
        enable_auto_commit=False,
        reconnect_backoff_max_ms=1000,
        allow_auto_create_topics=False,
        **arguments,
    )


class _Hearing(logging.Handler):
    """Remembers why an attempt failed: kafka-python's exceptions speak of a timeout, only its log of the cause."""

    cause: str | None = None
    refused: bool = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the words, not the exception, which would keep its sockets open."""
        for argument in record.args or ():
            if isinstance(argument, Exception) and not isinstance(argument, KafkaTimeoutError):
                self.cause = str(argument)
                self.refused = self.refused or isinstance(argument, REFUSALS)


def _listen() -> _Hearing:
    """Keep kafka-python's own log for ``--debug``: what users need to know is said here, once."""
    logger = logging.getLogger("kafka")
    logger.propagate = log.isEnabledFor(logging.DEBUG)
    for handler in [handler for handler in logger.handlers if isinstance(handler, _Hearing)]:
        logger.removeHandler(handler)
    hearing = _Hearing()
    logger.addHandler(hearing)
    return hearing
