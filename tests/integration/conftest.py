"""Both transports, for tests of what must not depend on which it is."""

from __future__ import annotations

import pytest

from tests.integration.worker_parts import KafkaWire, LocalWire, Wire, plain


@pytest.fixture(params=["local", pytest.param("kafka", marks=pytest.mark.kafka)])
def wire(request: pytest.FixtureRequest) -> Wire:
    """``local://``, and a real broker with topics of the test's own."""
    if request.param == "local":
        return LocalWire()
    return KafkaWire(plain(request.getfixturevalue("kafka_broker")), request.getfixturevalue("topic_prefix"))
