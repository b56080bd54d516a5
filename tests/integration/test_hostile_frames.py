"""Whatever is put on the frames topic: a bad message costs itself alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from operators.publish.track_events import Lifecycles
from operators.wire.schema import DeadLetter, Event, Result, from_json
from pipelines.assembly.environment import Environment
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.worker.worker import WorkerConfig, run_worker
from tests.integration.hostile import good, odd, pills
from tests.integration.test_worker import messages_of
from tests.integration.worker_parts import Wire
from tests.pipelines.plain_executor import build_executor
from tests.pipelines.queries import DETECT, TRACK, query

pytestmark = pytest.mark.kafka

LETTER_BYTES = 1 << 20
"""What brokers take by default."""


@asynccontextmanager
async def analysing(wire: Wire) -> AsyncIterator[None]:
    """A worker with the real executor, detector and tracker; it must live to the end of the block."""
    unused: Any = None  # the motion detector needs no engine
    wanted = query(DETECT, TRACK, name=wire.query)
    of = compiled(wanted, catalogue([]))
    executor = await build_executor(of, Environment.of(of, unused))
    stop = asyncio.Event()
    config = WorkerConfig(wire.broker, wire.query, wire.topics.frames, give_up_s=20)
    task = asyncio.create_task(run_worker(config, wire.roster(executor, Lifecycles(10.0, 3.0)), stop=stop))
    try:
        yield
        assert not task.done(), "the worker ended"
    finally:
        stop.set()
        await asyncio.wait_for(task, 120)


async def test_a_bad_message_costs_itself_alone(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    bad, strange = pills(wire), odd(wire, first_seq=1000)
    sound = [good(wire, seq) for seq in range(len(bad) + 1)]
    late = [good(wire, 5000 + seq) for seq in range(3)]
    mixed = [message for pair in zip(sound, bad.values(), strict=False) for message in pair]
    await wire.send([*mixed, sound[-1], *strange.values(), *late])
    wanted = {*range(len(sound)), *range(1000, 1000 + len(strange)), *range(5000, 5003)}
    async with analysing(wire):
        letters = await messages_of(wire, wire.topics.dlq, len(bad))
        async with asyncio.timeout(180):
            outcomes: dict[int, str] = {}
            while not wanted <= outcomes.keys():
                await asyncio.sleep(0.1)
                results = [from_json(m.value, Result) for m in await messages_of(wire, wire.topics.results, 1)]
                outcomes = {result.seq: result.outcome for result in results}
        letters = await messages_of(wire, wire.topics.dlq, len(bad))

    assert {seq for seq in wanted if outcomes[seq] != "analysed"} == set()
    assert set(outcomes.values()) == {"analysed", "failed"}
    answers = Counter(result.seq for result in results)
    assert {seq: answers[seq] for seq in wanted} == dict.fromkeys(wanted, 1)
    places = Counter((found.partition, found.offset) for found in (from_json(m.value, DeadLetter) for m in letters))
    assert len(places) == len(letters) == len(bad)
    assert max(len(letter.value) for letter in letters) < LETTER_BYTES
    assert "starting again" not in caplog.text


async def test_events_follow_after_a_jump_of_media_time(wire: Wire) -> None:
    await wire.send([good(wire, 0), *odd(wire, first_seq=1).values(), good(wire, 100)])
    async with analysing(wire):
        await messages_of(wire, wire.topics.results, 12)
    for message in await wire.all_of(wire.topics.events):
        from_json(message.value, Event)
