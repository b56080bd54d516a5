"""A ``faust.App`` configured for frames: small buffers, large messages, no web server, nothing hidden."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any, Literal

import faust
from faust.types.auth import CredentialsT

from operators.transports import kafka
from pipelines.aio_broker import Broker, LocalAddress, tls_context
from pipelines.settings import BrokerSettings

MAX_MESSAGE_BYTES = 8 << 20
BUFFERED_EVENTS = 32
POLLED_RECORDS = 64
SESSION_TIMEOUT_S = 10.0
"""After so long without a heartbeat a worker counts as dead, and others take its partitions over."""
LOCAL_PARTITIONS = 16
"""Streams of one partition wait for each other, and in one process partitions cost nothing."""

StartAt = Literal["earliest", "latest"]


def make_app(
    name: str,
    broker: Broker,
    *,
    start: StartAt = "earliest",
    partitions: int = LOCAL_PARTITIONS,
    datadir: Path | None = None,
) -> faust.App:
    """An app that is not started; those of the same ``name`` share the partitions of what they consume.

    ``start`` says where a name begins that never committed; ``partitions`` is for topics made on ``local://``.
    """
    app = faust.App(
        name,
        broker=_urls(broker),
        broker_credentials=None if isinstance(broker, LocalAddress) else _credentials(broker),
        autodiscover=False,
        datadir=datadir or Path(tempfile.gettempdir()) / f"sluice-{name}",
        web_enabled=False,
        topic_disable_leader=True,
        topic_partitions=partitions,
        table_standby_replicas=0,
        stream_wait_empty=False,
        # The default of 4096 events of 100 KB would be 400 MB of hidden latency.
        stream_buffer_maxsize=BUFFERED_EVENTS,
        broker_max_poll_records=POLLED_RECORDS,
        broker_session_timeout=SESSION_TIMEOUT_S,
        broker_request_timeout=30.0,
        producer_request_timeout=30.0,
        # The defaults of 1 MB lose large frames.
        consumer_max_fetch_size=MAX_MESSAGE_BYTES,
        producer_max_request_size=MAX_MESSAGE_BYTES,
        consumer_auto_offset_reset=start,
    )
    if not isinstance(broker, LocalAddress):
        app.transport = kafka.Transport(app.conf.broker_consumer, app)
    return app


def quiet() -> None:
    """Silence the libraries' own logs, which repeat every failed attempt, unless debug output is wanted."""
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        for library in ("faust", "mode", "aiokafka"):
            logging.getLogger(library).setLevel(logging.CRITICAL + 1)


def _urls(broker: Broker) -> list[str]:
    return [broker.url] if isinstance(broker, LocalAddress) else [f"kafka://{server}" for server in broker.servers]


def _credentials(settings: BrokerSettings) -> CredentialsT | None:
    context: Any = tls_context(settings) if settings.uses_tls else None
    if settings.sasl_mechanism is not None:
        return faust.SASLCredentials(
            username=settings.username,
            password=settings.password,
            mechanism=settings.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context=context) if context else None
