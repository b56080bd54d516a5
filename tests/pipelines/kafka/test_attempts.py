"""A broker that does not answer leaves nothing behind of each attempt."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any

import aiokafka.client
import pytest
from aiokafka.errors import AuthenticationFailedError, KafkaConnectionError
from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient

from pipelines.kafka.async_clients import reading, started, topics_at
from pipelines.kafka.sync_clients import _Producer, attempt
from pipelines.kafka.verdict import Verdict
from pipelines.settings import BrokerSettings, broker_settings
from tests.real.ports import free_port


@pytest.mark.parametrize("kind", [KafkaAdminClient, KafkaConsumer, _Producer])
async def test_no_thread_of_a_client_that_failed_lives_on(kind: Callable[..., Any]) -> None:
    """Asked under an event loop, as a notebook has one."""
    before = set(threading.enumerate())
    found = attempt(kind, broker_settings(f"kafka://127.0.0.1:{free_port()}"), 0.1)
    assert isinstance(found, Verdict)
    assert "refused" in found.text
    assert not found.final
    assert set(threading.enumerate()) <= before


async def consumed(settings: BrokerSettings) -> None:
    async with reading(settings, "frames"):
        pass


@pytest.mark.parametrize("reach", [topics_at, started, consumed])
@pytest.mark.parametrize("answers", [False, True])
async def test_a_broker_that_is_not_there_or_lets_nobody_in_is_called_by_its_address(
    reach: Callable[[BrokerSettings], Awaitable[Any]], answers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object, **__: object) -> None:
        raise AuthenticationFailedError("wrong password")

    if answers:
        monkeypatch.setattr(aiokafka.client, "create_conn", refused)
    settings = broker_settings(f"kafka://127.0.0.1:{free_port()}")
    with pytest.raises(KafkaConnectionError) as raised:
        await reach(settings)
    assert str(raised.value) == f"KafkaConnectionError: no connection to a broker at {settings.url}"
