"""The consumer's thread ends whatever its client does."""

from __future__ import annotations

import asyncio
from typing import Any

from faust.transport.drivers import aiokafka as driver

from operators.transports.kafka import ConsumerThread


class Leaving:
    """A client whose end is broken off by its own tasks."""

    async def stop(self) -> None:
        raise asyncio.CancelledError


class Thread(ConsumerThread):
    """One that was started with such a client."""

    def __init__(self) -> None:
        """Without an app."""
        self._consumer: Any = Leaving()
        self.shut = False

    async def _default_stop_children(self) -> None:
        """It has none."""

    _default_stop_futures = _default_stop_exit_stacks = _default_stop_children

    def set_shutdown(self) -> None:
        self.shut = True


async def test_a_client_that_breaks_off_its_end_does_not_keep_the_app_waiting(monkeypatch: Any) -> None:
    async def stopped(self: Any) -> None:
        await self._consumer.stop()

    monkeypatch.setattr(driver.AIOKafkaConsumerThread, "on_thread_stop", stopped)
    thread = Thread()
    await thread._shutdown_thread()
    assert thread.shut
