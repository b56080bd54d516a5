"""The thin adapter between Faust and the partitions of the frames topic, which know nothing of it."""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import faust
from faust.types import TP

from operators.transports import kafka
from pipelines.kafka.options import METADATA_AGE_MS, tls_context
from pipelines.partition.message import Message
from pipelines.partition.open_streams import OpenStreams
from pipelines.partition.partition import Partition
from pipelines.partition.publisher import Outgoing, Send
from pipelines.partition.queries import QueryWork
from pipelines.partition.shared_parts import SharedParts, Valve
from pipelines.settings import BrokerSettings

MAX_MESSAGE_BYTES = 8 << 20
BUFFERED_EVENTS = 32
POLLED_RECORDS = 64
SESSION_TIMEOUT_S = 10.0
"""After so long without a heartbeat a worker counts as dead, and others take its partitions over."""


def make_app(
    name: str,
    broker: BrokerSettings,
    *,
    datadir: Path | None = None,
    session_s: float = SESSION_TIMEOUT_S,
) -> faust.App:
    """An app that is not started; those of the same ``name`` share the partitions of what they consume."""
    app = faust.App(
        name,
        broker=[f"kafka://{server}" for server in broker.servers],
        broker_credentials=_credentials(broker),
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
    app.transport = kafka.Transport(app.conf.broker_consumer, app)  # our driver in place of Faust's own
    return app


def _credentials(broker: BrokerSettings) -> Any:
    """For SASL, TLS or both; None for neither."""
    context: Any = tls_context(broker) if broker.uses_tls else None
    if broker.sasl_mechanism is not None:
        return faust.SASLCredentials(
            username=broker.username, password=broker.password, mechanism=broker.sasl_mechanism, ssl_context=context
        )
    return faust.SSLCredentials(context=context) if context else None


def quiet() -> None:
    """Silence the libraries' own logs, which repeat every failed attempt, unless debug output is wanted."""
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        # Consumers of ours log what Faust has to say under the name of their module.
        for library in ("faust", "mode", "aiokafka", "operators.transports.kafka"):
            logging.getLogger(library).setLevel(logging.CRITICAL + 1)


HANDOVER_S = 5.0
"""How long partitions that move away are given to finish what they have in work."""
SETTLE_S = 2.0
"""How long the frames that are being analysed then, one of each stream, are given to end."""


def sender(app: faust.App) -> Send:
    """Publishes by the app's producer, without the buffers and serialisers that Faust puts before it."""

    async def send(message: Outgoing) -> Awaitable[object]:
        sent: Awaitable[object] = await app.producer.send(
            message.topic, message.key, message.value, None, message.timestamp_s, None
        )
        return sent

    return send


class FrameAgent:
    """Reads the frames topic of an app and keeps one ``Partition`` for each partition the app is assigned.

    Exceptions of an agent would acknowledge the message at hand; here the agent's body only passes events on.
    """

    def __init__(self, app: faust.App, work: SharedParts, ready: asyncio.Event) -> None:
        """``ready`` is set once the app has been assigned its partitions."""
        self.app = app
        self._ready = ready
        self._work = work
        self._partitions: dict[TP, Partition] = {}
        self._streams = OpenStreams(work.bounds, self._drop, work.queries.busy)
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """The future that gets the exception that ends the work."""
        self.joined = False
        """Whether partitions have been assigned, be it none."""
        self._topic = work.frames
        topic = app.topic(self._topic, key_serializer="raw", value_serializer="raw")
        # Not by the decorator, which searches the files of all modules for where it stands.
        agent = app.conf.Agent(self._consume, name="frames", app=app, channel=topic)
        app.agents[agent.name] = agent
        app.on_partitions_revoked.connect(self._revoked)
        app.on_partitions_assigned.connect(self._assigned)

    @property
    def storing(self) -> bool:
        """Whether the broker takes what is published."""
        return self._work.publisher.storing

    def end(self, error: Exception) -> None:
        """End the work with this error, unless another one has."""
        if not self.failed.done():
            self.failed.set_exception(error)

    async def close(self) -> None:
        """Finish and publish the frames in flight, then drop the state of all streams: others may go on with them."""
        try:
            await self._stop()
            await self._work.queries.save()
        finally:
            self._streams.keep(())

    async def leave(self, query: QueryWork) -> None:
        """Finish what a query has in work that gets no more frames."""
        await asyncio.gather(*(partition.leave(query) for partition in self._partitions.values()))

    async def _stop(self) -> None:
        partitions, self._partitions = self._partitions, {}
        await asyncio.gather(*(partition.stop(HANDOVER_S) for partition in partitions.values()))
        await self._work.queries.settled(SETTLE_S)  # operators forget no stream in the middle of its frame

    def _drop(self, stream: str) -> None:
        self._work.queries.forget(stream)
        self._work.missing.forget(stream)
        self._work.gates.forget(stream)

    async def _consume(self, stream: Any) -> None:
        async for event in stream.noack().events():
            partition = self._partitions.get(event.message.tp)
            if partition is not None:
                partition.take(_message(event))

    async def _revoked(self, app: faust.App, revoked: set[TP], **_: Any) -> None:
        await self._stop()
        await self._work.queries.save()  # before this returns nobody else is assigned them

    async def _assigned(self, app: faust.App, assigned: set[TP], **_: Any) -> None:
        await self._stop()
        self._work.queries.reset()
        self._work.tally.begin_anew()
        self._work.missing.begin_anew()
        self._work.gates.begin_anew()
        self._streams.keep(assigned)
        self._partitions = {tp: self._open(tp) for tp in assigned if tp.topic == self._topic}
        self.joined = True
        self._ready.set()

    def _open(self, tp: TP) -> Partition:
        consumer = self.app.consumer
        valve = Valve(
            acknowledge=lambda message: message.receipt.ack(),  # type: ignore[attr-defined]
            hold=lambda: consumer.on_buffer_full(tp),
            release=lambda: consumer.on_buffer_drop(tp),
            fail=self.end,
        )
        return Partition(self._work, valve, lambda stream: self._streams.meet(stream, tp, time.monotonic()))


def _message(event: Any) -> Message:
    message = event.message
    return Message(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        timestamp_s=message.timestamp,
        key=message.key,
        value=message.value,
        headers=tuple(message.headers or ()),
        receipt=event,
    )
