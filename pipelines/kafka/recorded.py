"""Looks on a broker for one result, and for the audits of a stream's shortcuts."""

from __future__ import annotations

from collections.abc import Callable

from aiokafka.errors import KafkaError

from operators.wire.schema import NodePlan, Result, StreamPlan, from_json
from pipelines.kafka.topic_reader import records
from pipelines.settings import BrokerSettings
from serving.common.redaction import redact
from serving.errors import Malformed, Unavailable


async def each_result(settings: BrokerSettings, topic: str, stream: str | None, take: Callable[[Result], None]) -> None:
    """Hand every result of the topic, or of one stream, to ``take``; Unavailable where there is no broker."""
    try:
        async for record in records(settings, topic, "the result"):
            if record.value is None or (stream is not None and record.key != stream.encode()):
                continue
            try:
                take(from_json(record.value, Result))
            except Malformed:
                continue  # others may write to the topic too
    except (KafkaError, OSError) as error:
        raise _unavailable(settings, topic, error) from None


async def audits(settings: BrokerSettings, topic: str, stream: str, query: str) -> list[NodePlan]:
    """The shortcuts' audits in the latest plan of a stream; Unavailable where there is no broker."""
    found: list[NodePlan] = []
    try:
        async for record in records(settings, topic, "the stream's plan"):
            if record.value is None or record.key != stream.encode():
                continue
            try:
                plan = from_json(record.value, StreamPlan)
            except Malformed:
                continue
            if (plan.stream, plan.query) == (stream, query):
                found = plan.nodes
    except (KafkaError, OSError) as error:
        raise _unavailable(settings, topic, error) from None
    return found


def _unavailable(settings: BrokerSettings, topic: str, error: Exception) -> Unavailable:
    said = redact(str(error) or type(error).__name__)
    return Unavailable(
        f"broker {settings.url}: topic {topic} cannot be read: {said}; is it there, and may you read it?"
    )
