"""A broker that does not answer leaves nothing behind of each attempt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient

from pipelines.kafka.sync_clients import _Producer, attempt
from pipelines.kafka.verdict import Verdict
from pipelines.settings import broker_settings
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
