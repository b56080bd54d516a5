"""``kafka://``: a worker that shares the partitions of a broker's topics with others of its query."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import faust

from operators.transports import kafka
from pipelines.kafka.async_clients import wait_for_broker
from pipelines.kafka.options import tls_context
from pipelines.kafka.rights import Needs
from pipelines.partition.publisher import Publisher
from pipelines.partition.resume import KafkaResume
from pipelines.partition.stream_state import StateConfig
from pipelines.settings import BrokerSettings
from pipelines.worker.state_topic import StateTopic

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KafkaTransport:
    """A Kafka broker."""

    settings: BrokerSettings

    @property
    def url(self) -> str:
        """Its servers, without credentials."""
        return self.settings.url

    @property
    def urls(self) -> list[str]:
        """One address for each server."""
        return [f"kafka://{server}" for server in self.settings.servers]

    @property
    def credentials(self) -> Any:
        """For SASL, TLS or both; None for neither."""
        settings = self.settings
        context: Any = tls_context(settings) if settings.uses_tls else None
        if settings.sasl_mechanism is not None:
            return faust.SASLCredentials(
                username=settings.username,
                password=settings.password,
                mechanism=settings.sasl_mechanism,
                ssl_context=context,
            )
        return faust.SSLCredentials(context=context) if context else None

    def attach(self, app: faust.App) -> None:
        """Our driver in place of Faust's own."""
        app.transport = kafka.Transport(app.conf.broker_consumer, app)

    async def wait(self, needs: Needs, give_up_s: float) -> None:
        """Until the broker answers and has the topics."""
        await wait_for_broker(self.settings, needs, give_up_s)

    async def begin_at_the_end(self, needs: Needs, topic: str, give_up_s: float) -> None:
        """See ``Transport``."""
        from pipelines.kafka.first_start import begin_at_the_ends  # a second client library, for few starts

        assert needs.group is not None
        begin = partial(begin_at_the_ends, group=needs.group, topic=topic)
        await wait_for_broker(self.settings, needs, give_up_s, begin)

    def begun(self, topic: str) -> None:
        """A line in the log."""
        log.info("analysing %s at %s", topic, self.url)

    def resume(self, query: str, topic: str, flush: Callable[[], Awaitable[None]]) -> KafkaResume:
        """Reads the tail of the topic."""
        return KafkaResume(self.settings, topic, query, flush)

    def state(self, query: str, what: StateConfig, publisher: Publisher) -> StateTopic:
        """Keeps snapshots on the topic that ``what`` names."""
        return StateTopic(self.settings, query, what, publisher)
