"""A ``faust.App`` configured for frames: small buffers, large messages, no web server, nothing hidden."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import faust

from pipelines.worker.kafka_transport import KafkaTransport

MAX_MESSAGE_BYTES = 8 << 20
BUFFERED_EVENTS = 32
POLLED_RECORDS = 64
SESSION_TIMEOUT_S = 10.0
"""After so long without a heartbeat a worker counts as dead, and others take its partitions over."""
METADATA_AGE_MS = 5000
"""A partition that is added to the topic is found, and read, within so long; Faust's default is five minutes."""


def make_app(
    name: str,
    transport: KafkaTransport,
    *,
    datadir: Path | None = None,
    session_s: float = SESSION_TIMEOUT_S,
) -> faust.App:
    """An app that is not started; those of the same ``name`` share the partitions of what they consume."""
    app = faust.App(
        name,
        broker=transport.urls,
        broker_credentials=transport.credentials,
        autodiscover=False,
        datadir=datadir or Path(tempfile.gettempdir()) / f"sluice-{name}",
        web_enabled=False,
        HttpClient=object,  # there is none: Faust would import aiohttp for its default
        topic_disable_leader=True,
        table_standby_replicas=0,
        stream_wait_empty=False,
        # The default of 4096 events of 100 KB would be 400 MB of hidden latency.
        stream_buffer_maxsize=BUFFERED_EVENTS,
        broker_max_poll_records=POLLED_RECORDS,
        broker_session_timeout=session_s,
        broker_heartbeat_interval=session_s / 3,
        broker_request_timeout=30.0,
        producer_request_timeout=30.0,
        # The defaults of 1 MB lose large frames.
        consumer_max_fetch_size=MAX_MESSAGE_BYTES,
        consumer_metadata_max_age_ms=METADATA_AGE_MS,
        producer_max_request_size=MAX_MESSAGE_BYTES,
        # Whatever has no commit is new, and nothing of it may be missed: `--start latest` is seen to before.
        consumer_auto_offset_reset="earliest",
    )
    transport.attach(app)
    return app


def quiet() -> None:
    """Silence the libraries' own logs, which repeat every failed attempt, unless debug output is wanted."""
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        # Consumers of ours log what Faust has to say under the name of their module.
        for library in ("faust", "mode", "aiokafka", "operators.transports.kafka"):
            logging.getLogger(library).setLevel(logging.CRITICAL + 1)
