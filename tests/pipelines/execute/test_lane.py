"""Lanes: order, one at a time, and drops at enqueue, on the timer and at dequeue. Nothing is lost silently."""

import asyncio
from unittest.mock import ANY

import pytest

from operators.wire.schema import FrameId
from pipelines.execute.lane import Claim, Dropped, Lane
from pipelines.execute.overload import LATE, QUEUE_FULL, StreamPatience
from tests.fake_clock import FakeClock
from tests.turns import turns

FAR = 1e9


class Bench:
    """A lane whose work waits for a gate and records what ran."""

    def __init__(self, policy, depth=2):
        self.clock = FakeClock()
        self.lane, self.patience = Lane(depth, self.clock), StreamPatience(policy)
        self.gate = asyncio.Event()
        self.ran = []

    def soon(self):
        return self.clock.monotonic_s() + 1

    def put(self, seq, deadline=FAR):
        async def work(turn):
            await self.gate.wait()
            self.ran.append(seq)
            return seq

        return asyncio.ensure_future(run(self.lane, seq, work, self.patience, deadline))


async def run(lane, seq, work, patience, deadline=FAR):
    async def turn(claimed):
        await claimed(None)

    return await lane.run(FrameId("cam", "r", seq), Claim(deadline, patience, work), turn)


async def outcome(task):
    try:
        return await task
    except Dropped as drop:
        return drop.cause


async def test_an_error_that_is_its_own_cause_ends_its_frame_and_no_more():
    bench = Bench("block")

    async def work(turn):
        error = OSError("broken")
        raise error from error

    with pytest.raises(OSError, match="broken") as found:
        await run(bench.lane, 0, work, bench.patience)
    assert found.value.__cause__ is None
    task = bench.put(1)
    bench.gate.set()
    assert await task == 1


async def test_block_keeps_everything_in_order_and_makes_the_source_wait():
    bench = Bench("block", depth=2)
    tasks = [bench.put(seq, deadline=0.0) for seq in range(10)]
    await turns()
    assert bench.ran == []
    bench.gate.set()
    assert await asyncio.gather(*tasks) == list(range(10))
    assert bench.ran == list(range(10))
    assert bench.lane.idle


async def test_a_frame_that_waits_for_room_is_not_overtaken():
    lane, patience, order = Lane(depth=1), StreamPatience("block"), []

    async def submit(seq):
        async def work(turn):
            await asyncio.sleep(0)
            order.append(seq)

        await run(lane, seq, work, patience)

    tasks = []
    for seq in range(30):
        tasks.append(asyncio.ensure_future(submit(seq)))
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == list(range(30))


async def test_drop_oldest_loses_the_oldest_waiting_when_full():
    bench = Bench("drop_oldest", depth=2)
    tasks = []
    for seq in range(5):
        tasks.append(bench.put(seq))
        await turns()
    bench.gate.set()
    assert [await outcome(task) for task in tasks] == [0, QUEUE_FULL, QUEUE_FULL, 3, 4]


async def test_drop_late_refuses_at_enqueue_what_is_already_late():
    bench = Bench("drop_late")
    assert await outcome(bench.put(0, deadline=0.0)) == LATE


async def test_drop_late_drops_on_the_timer_while_the_worker_never_frees():
    bench = Bench("drop_late")
    running = bench.put(0)
    await turns()
    late = bench.put(1, deadline=bench.soon())
    await turns()
    assert not late.done()
    bench.clock.advance(1.01)
    assert await outcome(late) == LATE
    assert bench.ran == []
    bench.gate.set()
    assert await running == 0


async def test_drop_oldest_lets_a_late_frame_give_way_to_a_newer_one_only():
    bench = Bench("drop_oldest", depth=3)
    running = bench.put(0)
    await turns()
    late, newest = bench.put(1, deadline=bench.soon()), bench.put(2, deadline=bench.soon())
    await turns()
    bench.clock.advance(1.01)
    assert await outcome(late) == LATE
    bench.gate.set()
    assert await newest == 2
    assert await running == 0


async def test_work_that_fails_fails_alone():
    lane, patience = Lane(), StreamPatience("block")

    async def fail(turn):
        raise ValueError("bad frame")

    async def succeed(turn):
        return "fine"

    bad, good = run(lane, 0, fail, patience), run(lane, 1, succeed, patience)
    results = await asyncio.gather(bad, good, return_exceptions=True)
    assert isinstance(results[0], ValueError)
    assert results[1] == "fine"


async def test_what_nobody_waits_for_any_more_is_not_done():
    bench = Bench("block")
    tasks = [bench.put(seq) for seq in range(3)]
    await turns()
    tasks[1].cancel()
    await turns()
    bench.gate.set()
    assert await asyncio.gather(*tasks, return_exceptions=True) == [0, ANY, 2]
    assert bench.ran == [0, 2]


async def test_a_submitter_that_gives_up_does_not_stop_the_lane():
    bench = Bench("block")
    gone, stays = bench.put(0), bench.put(1)
    await turns()
    gone.cancel()
    bench.gate.set()
    assert await stays == 1
    with pytest.raises(asyncio.CancelledError):
        await gone


@pytest.mark.parametrize(("policy", "timers"), [("block", 0), ("drop_oldest", 1), ("drop_late", 1)])
async def test_a_timer_is_set_only_where_a_frame_can_be_late(policy, timers, monkeypatch):
    bench, asked = Bench(policy), []
    call_at = bench.clock.call_at
    monkeypatch.setattr(bench.clock, "call_at", lambda *given: asked.append(given) or call_at(*given))
    task = bench.put(0)
    await turns()
    bench.gate.set()
    assert await task == 0
    assert len(asked) == timers


async def test_where_all_is_logged_the_log_says_where_work_has_failed(caplog):
    async def torn(turn):
        raise ValueError("torn")

    caplog.set_level("DEBUG", "pipelines.execute.lane")
    with pytest.raises(ValueError, match="torn"):
        await run(Lane(), 0, torn, StreamPatience("block"))
    assert "in torn" in caplog.text
