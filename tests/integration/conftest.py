"""A real broker with topics of the test's own."""

from __future__ import annotations

import pytest

from tests.integration.worker_parts import Wire, plain
from tests.real.kafka import KafkaBroker, RemoteBroker


@pytest.fixture
def wire(kafka_broker: KafkaBroker | RemoteBroker, topic_prefix: str) -> Wire:
    """Topics of a worker's query."""
    return Wire(plain(kafka_broker), topic_prefix)
