"""Faust's part of a frame: an agent on ``local://`` that takes messages, acknowledges them and does nothing else."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from typing import Any

from operators.transports.faust_import import import_faust
from operators.transports.local_broker import LocalBroker

TOPIC, WARM_UP = "frames", 50


def shell_us(messages: int, at_once: int) -> float:
    """Processor time of this process for one message; so many come at once, from a thread as capture's frames do."""
    import_faust()
    return asyncio.run(_shell_us(messages, at_once))


async def _shell_us(messages: int, at_once: int) -> float:
    from pipelines.worker.app import make_app, quiet
    from pipelines.worker.local_transport import LocalTransport

    quiet()
    transport = LocalTransport(f"shell-{uuid.uuid4().hex[:12]}")
    broker = LocalBroker.named(transport.name)
    broker.create_topic(TOPIC, 1)
    app, taken = make_app("shell", transport, partitions=1), _Taken()
    topic = app.topic(TOPIC, key_serializer="raw", value_serializer="raw")
    agent = app.conf.Agent(taken.consume, name=TOPIC, app=app, channel=topic)
    app.agents[agent.name] = agent
    await app.start()
    try:
        await _pass(broker, taken, WARM_UP, at_once)
        started_s = time.process_time()
        await _pass(broker, taken, messages, at_once)
        return (time.process_time() - started_s) / messages * 1e6
    finally:
        await app.stop()
        LocalBroker.forget(transport.name)


async def _pass(broker: LocalBroker, taken: _Taken, messages: int, at_once: int) -> None:
    turn = threading.Semaphore(0)

    def feed() -> None:
        for _ in range(messages // at_once):
            turn.acquire()
            for _ in range(at_once):
                broker.append(TOPIC, b"camera", b"", ())

    feeding = threading.Thread(target=feed)
    feeding.start()
    for _ in range(messages // at_once):
        turn.release()
        await taken.more(at_once)
    feeding.join()


class _Taken:
    """Counts the messages that the agent has acknowledged."""

    def __init__(self) -> None:
        self._count = self._wanted = 0
        self._changed = asyncio.Event()

    async def consume(self, stream: Any) -> None:
        """The agent."""
        async for event in stream.noack().events():
            event.ack()
            self._count += 1
            self._changed.set()

    async def more(self, count: int) -> None:
        """Wait for so many further messages."""
        self._wanted += count
        while self._count < self._wanted:
            self._changed.clear()
            await self._changed.wait()
