"""The client that sends: what capture needs of ``kafka.KafkaProducer``."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Producer(Protocol):
    """The part of ``kafka.KafkaProducer`` used here.

    It must not be idempotent (a refused message would end it) and keep order within a partition: ``acks="all"`` and
    ``max_in_flight_requests_per_connection=1``.
    """

    def send(self, topic: str, value: bytes, key: bytes, headers: list[tuple[str, bytes]] | None = None) -> Any:
        """Send a message; the future calls back from a thread of the producer."""
        ...

    def flush(self, timeout: float) -> None:
        """Wait until all messages are sent."""
        ...

    def close(self, timeout: float) -> None:
        """Close the producer."""
        ...


class CaptureTopics(NamedTuple):
    """The full names of the topics that a capture writes."""

    frames: str
    streams: str
    """The states of streams."""
