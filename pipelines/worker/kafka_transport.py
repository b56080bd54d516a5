"""The broker that carries a worker's messages, as the worker sees it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import faust

from operators.transports import kafka
from pipelines.kafka.async_clients import wait_for_broker
from pipelines.kafka.first_start import begin_at_the_ends
from pipelines.kafka.options import tls_context
from pipelines.kafka.rights import TopicRights
from pipelines.partition.publisher import Publisher
from pipelines.partition.resume import KafkaResume
from pipelines.partition.stream_state import StateConfig
from pipelines.settings import BrokerSettings
from pipelines.worker.state_topic import TopicStateStore

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KafkaTransport:
    """A Kafka broker. Nothing is opened before ``wait``."""

    settings: BrokerSettings

    @property
    def url(self) -> str:
        """Its servers, fit for messages and logs: without credentials."""
        return self.settings.url

    @property
    def urls(self) -> list[str]:
        """One address for each server, as Faust wants them."""
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

    async def wait(self, needs: TopicRights, give_up_s: float) -> None:
        """Return once the broker answers and has what is needed; raises ``Unavailable`` or ``BadInput``."""
        await wait_for_broker(self.settings, needs, give_up_s)

    async def begin_at_the_end(self, needs: TopicRights, topic: str, give_up_s: float) -> None:
        """Have the group of ``needs``, if it has never begun, begin with what comes next; raises as ``wait``."""
        assert needs.group is not None
        begin = partial(begin_at_the_ends, self.settings, needs.group, topic)
        await wait_for_broker(self.settings, needs, give_up_s, begin)

    def begun(self, topic: str) -> None:
        """Log that the worker analyses the topic."""
        log.info("analysing %s at %s", topic, self.url)

    def resume(self, query: str, topic: str, flush: Callable[[], Awaitable[None]]) -> KafkaResume:
        """Return what earlier lives of a query's worker have answered on its topic of results."""
        return KafkaResume(self.settings, topic, query, flush)

    def state(self, query: str, what: StateConfig, publisher: Publisher) -> TopicStateStore:
        """Return where the states of a query's streams survive their worker: the topic that ``what`` names."""
        return TopicStateStore(self.settings, query, what, publisher)
