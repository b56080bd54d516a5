"""The executor: every frame ends in exactly one outcome, whatever the operators do."""

import asyncio
import sys
from datetime import timedelta

import numpy as np
import pytest

from operators.base import NodeAnswer
from operators.frames.frame import Frame
from operators.testing import make_region
from operators.wire.schema import Attribute, FrameHeader, Model
from pipelines.execute.executor import Executor
from pipelines.execute.overload import LATE
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.partition.dead_letters import dead_letter
from pipelines.partition.message import Message
from pipelines.planning.planner import Planner
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from serving.common.redaction import hide
from serving.errors import SluiceError
from tests.fake_clock import FakeClock
from tests.turns import turns

QUERY = Query.model_validate(
    {
        "version": 1,
        "name": "test",
        "slo_ms": 1000,
        "nodes": [
            {"name": "detect", "task": "detect", "model": ["good", "fast"]},
            {"name": "track", "task": "track", "input": "detect"},
            {"name": "kind", "task": "recognise", "input": "track[label == car]", "model": "kinds"},
        ],
    }
)


class Found:
    """A detector that finds one car and one tree per frame, and remembers what it was told."""

    def __init__(self):
        self.calls = []

    async def process(self, frame, regions, call):
        self.calls.append((frame.seq, list(regions), call))
        return [make_region(label="car"), make_region(x=0.5, label="tree")]

    def forget(self, stream):
        self.calls.append(("forget", stream))


class Numbered:
    async def process(self, frame, regions, call):
        for region in regions:
            region.track_id = region.id + 100
        return []

    def forget(self, stream):
        pass


class Named:
    async def process(self, frame, regions, call):
        model = Model(name=call.model, version="1", tier="t")
        for region in regions:
            region.attributes.append(
                Attribute(name="kind", label="red", confidence=0.9, provenance="oracle", model=model)
            )
        return []

    def forget(self, stream):
        pass


class Broken(Found):
    async def process(self, frame, regions, call):
        if frame.seq == 1:
            raise RuntimeError("no memory")
        return await super().process(frame, regions, call)


CLOCK = FakeClock()


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(sys.modules[__name__], "CLOCK", fake)
    return fake


def executor(detect=None, policy="block", final_steps=(), unhurried=()):
    operators = {"detect": detect or Found(), "track": Numbered(), "kind": Named()}
    around = Surroundings(final_steps, CLOCK)
    return Executor(compile_dag(QUERY), operators, Planner(), Limits({"cam": policy}, unhurried=unhurried), around)


def header(seq=0, stream="cam", age_s=0.0):
    return FrameHeader(
        stream=stream,
        run="r",
        seq=seq,
        width=16,
        height=8,
        media_time_s=seq / 10,
        captured_at=CLOCK.now() - timedelta(seconds=age_s),
        encoding="bgr24",
        decode_ms=1.5,
    )


def loader(h):
    return lambda: Frame(h, np.zeros((8, 16, 3), np.uint8))


async def submit(subject, h):
    return await subject.submit(h, loader(h))


async def test_walks_the_dag_and_reports_every_stage():
    detect, seen = Found(), []

    async def observe(frame, result):
        seen.append((frame.seq, result.seq))

    subject = executor(detect, final_steps=[observe])
    result = await submit(subject, header(seq=4))
    assert (result.stream, result.run, result.seq, result.query, result.outcome) == ("cam", "r", 4, "test", "analysed")
    assert [(o.id, o.label, o.track_id, [a.label for a in o.attributes]) for o in result.objects] == [
        (0, "car", 100, ["red"]),
        (1, "tree", 101, []),
    ]
    assert list(result.plan.stages_ms) == ["capture", "queue", "decode", "detect", "track", "kind", "framework"]
    assert result.plan.stages_ms["capture"] == 1.5
    assert result.plan.deadline_met
    assert result.objects[0].attributes[0].model.name == "kinds"
    assert {name: (node.variant, node.why) for name, node in result.plan.nodes.items()} == {
        "detect": ("good", "first listed"),
        "kind": ("kinds", "first listed"),
    }
    assert seen == [(4, 4)]


async def test_nodes_know_whether_a_frame_can_be_late_and_the_result_says_how_much_a_detector_was_shown():
    class Shown(Found):
        async def process(self, frame, regions, call):
            return NodeAnswer(await super().process(frame, regions, call), detail=832)

    for unhurried in ((), ("cam",)):
        detect = Shown()
        result = await submit(executor(detect, unhurried=unhurried), header())
        ((_, _, call),) = detect.calls
        assert call.unhurried == bool(unhurried)
        assert result.plan.nodes["detect"].detail == 832


async def test_a_node_that_cannot_obey_says_so_in_the_result():
    class Stubborn(Found):
        async def process(self, frame, regions, call):
            return NodeAnswer(await super().process(frame, regions, call), declined={"variant": "has no weights yet"})

    result = await submit(executor(Stubborn()), header())
    assert result.plan.nodes["detect"].declined == {"variant": "has no weights yet"}
    assert result.plan.nodes["kind"].declined == {}


async def test_the_first_listed_model_is_chosen():
    detect = Found()
    await submit(executor(detect), header())
    assert detect.calls[0][2].model == "good"


async def test_a_failing_node_fails_its_frame_only():
    subject = executor(Broken())
    results = await asyncio.gather(*(submit(subject, header(seq)) for seq in range(3)))
    assert [r.outcome for r in results] == ["analysed", "failed", "analysed"]
    assert results[1].cause == "detect: RuntimeError: no memory"
    assert results[1].objects == []


class Spoiled(Found):
    """Knows something of the stream that makes every frame fail until it is forgotten."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    async def process(self, frame, regions, call):
        if self.error is not None:
            raise self.error
        return await super().process(frame, regions, call)

    def forget(self, stream):
        self.error = None


async def test_a_node_whose_state_of_a_stream_is_spoiled_begins_anew():
    subject = executor(Spoiled(KeyError(7)))
    outcomes = [(await submit(subject, header(seq))).outcome for seq in range(5)]
    assert outcomes == ["failed"] * 3 + ["analysed"] * 2


async def test_what_a_node_has_learnt_outlives_an_engine_that_refuses():
    subject = executor(Spoiled(SluiceError("the network is out of service")))
    outcomes = [(await submit(subject, header(seq))).outcome for seq in range(7)]
    assert outcomes == ["failed"] * 7


async def test_what_is_published_of_a_failure_holds_no_secret():
    class Leaking(Found):
        async def process(self, frame, regions, call):
            raise RuntimeError("cannot log in with hunter22 at http://bob:other@models/x")

    hide("hunter22")
    subject = executor(Leaking())
    result = await submit(subject, header())
    assert result.cause == "detect: RuntimeError: cannot log in with *** at http://***@models/x"
    assert subject.unanalysed(header(), "failed", "hunter22").cause == "***"
    letter = dead_letter(Message("frames", 0, 0, 0.0, None, None, ()), "failed", "hunter22 is refused")
    assert letter.message == "*** is refused"


async def test_a_node_that_keeps_failing_is_told_now_and_then(caplog):
    class Failing(Found):
        async def process(self, frame, regions, call):
            raise RuntimeError(f"no memory for {frame.seq}")

    subject = executor(Failing())
    for seq in range(12):
        await submit(subject, header(seq))
    kind = "stream cam: node detect: RuntimeError"
    said = [f"{kind}: no memory for 0", f"{kind} (10 so far): no memory for 9"]
    assert [record.getMessage() for record in caplog.records] == said


class Panic(BaseException):
    """The panics of libraries in Rust are of such a class."""


@pytest.mark.parametrize("error", [asyncio.CancelledError("gone"), Panic("gone"), GeneratorExit("gone")])
async def test_whatever_an_operator_raises_fails_its_frame_alone(error: BaseException):
    class Raising(Found):
        async def process(self, frame, regions, call):
            if frame.seq == 0:
                raise error
            return await super().process(frame, regions, call)

    subject = executor(Raising())
    first, second = [await asyncio.wait_for(submit(subject, header(seq)), 5) for seq in range(2)]
    cause = f"detect: RuntimeError: process has raised {type(error).__name__}: gone"
    assert (first.outcome, first.cause, second.outcome) == ("failed", cause, "analysed")


async def test_a_frame_that_cannot_be_loaded_raises_and_its_neighbours_go_on():
    subject = executor()

    def damaged():
        raise ValueError("damaged")

    bad, good = subject.submit(header(0), damaged), submit(subject, header(1))
    outcomes = await asyncio.gather(bad, good, return_exceptions=True)
    assert isinstance(outcomes[0], ValueError)
    assert outcomes[1].outcome == "analysed"


async def test_a_late_frame_is_dropped_by_its_policy_and_never_loaded():
    def load():
        pytest.fail("a dropped frame must not be decoded")

    result = await executor(policy="drop_late").submit(header(age_s=60), load)
    assert (result.outcome, result.cause, result.objects) == ("dropped", LATE, [])
    assert not result.plan.deadline_met


async def test_block_analyses_late_frames_and_says_so():
    result = await submit(executor(policy="block"), header(age_s=60))
    assert (result.outcome, result.plan.deadline_met) == ("analysed", False)
    assert result.plan.latency_ms >= 60_000


async def test_frames_of_a_stream_come_in_order_and_of_several_streams_together():
    class Gate(Found):
        def __init__(self):
            super().__init__()
            self.inside = set()
            self.together = 0

        async def process(self, frame, regions, call):
            assert frame.stream not in self.inside, "two frames of one stream at once"
            self.inside.add(frame.stream)
            self.together = max(self.together, len(self.inside))
            await asyncio.sleep(0)  # others may come in between
            self.inside.remove(frame.stream)
            self.calls.append((frame.stream, frame.seq))
            return []

    gate = Gate()
    subject = executor(gate)
    headers = [header(seq, stream) for seq in range(5) for stream in ("cam", "yard")]
    await asyncio.gather(*(submit(subject, h) for h in headers))
    for stream in ("cam", "yard"):
        assert [seq for name, seq in gate.calls if name == stream] == list(range(5))
    assert gate.together == 2


async def test_forget_reaches_the_operators():
    detect = Found()
    executor(detect).forget("cam")
    assert detect.calls == [("forget", "cam")]


async def test_an_operator_that_cannot_forget_ends_nothing(caplog):
    class Stuck(Found):
        def forget(self, stream):
            raise KeyError(stream)

    executor(Stuck()).forget("cam")
    assert "stream cam: node detect: forget has raised KeyError: 'cam'" in caplog.text


@pytest.mark.parametrize("returned", [None, 3, ["a"], [None]])
async def test_what_is_no_list_of_regions_fails_the_frame_and_names_the_node(returned):
    class Odd(Found):
        async def process(self, frame, regions, call):
            return returned

    result = await submit(executor(Odd()), header())
    assert result.outcome == "failed"
    assert result.cause.startswith(f"detect: TypeError: process has returned {returned!r}: a list of new regions")


class Gated(Found):
    """A detector that remembers the stream, and waits in the middle of a frame."""

    def __init__(self):
        super().__init__()
        self.known, self.arrived, self.goes_on = {"cam": 0}, asyncio.Event(), asyncio.Event()

    async def process(self, frame, regions, call):
        self.arrived.set()
        await self.goes_on.wait()
        self.known[frame.stream] += 1
        return await super().process(frame, regions, call)

    def forget(self, stream):
        self.known.pop(stream, None)


async def test_a_stream_that_is_forgotten_in_the_middle_of_its_frame_is_not_told_of(caplog):
    subject = executor(detect := Gated())
    frame = asyncio.create_task(submit(subject, header()))
    await detect.arrived.wait()
    subject.forget("cam")
    detect.goes_on.set()
    assert (await frame).cause == "detect: KeyError: 'cam'"
    assert not caplog.records


async def test_frames_that_were_given_up_are_settled_before_their_stream_is_forgotten():
    subject = executor(detect := Gated())
    frames = [asyncio.create_task(submit(subject, header(seq))) for seq in range(3)]
    await detect.arrived.wait()
    for frame in frames:
        frame.cancel()
    settled = asyncio.create_task(subject.settled(60.0))
    await turns()
    assert not settled.done()
    detect.goes_on.set()
    await settled
    assert not subject.busy("cam")
    assert detect.known == {"cam": 1}, "what nobody waits for is not begun"
    await subject.settled(60.0)


async def test_a_frame_that_hangs_is_not_waited_for_for_ever():
    subject = executor(detect := Gated())
    frame = asyncio.create_task(submit(subject, header()))
    await detect.arrived.wait()
    await subject.settled(0.01)
    assert subject.busy("cam")
    detect.goes_on.set()
    await frame


def test_unanalysed_frames_have_a_result_too():
    result = executor().unanalysed(header(seq=3), "failed", "undecodable_image: damaged")
    assert (result.seq, result.outcome, result.cause) == (3, "failed", "undecodable_image: damaged")
    assert (result.frame.width, result.frame.height) == (16, 8)


class Waits(Found):
    """A detector that takes a fifth of a second."""

    async def process(self, frame, regions, call):
        CLOCK.advance(0.2)
        return await super().process(frame, regions, call)


async def test_latency_and_deadline_are_counted_from_capture():
    detect = Waits()
    result = await submit(executor(detect), header(age_s=0.5))
    assert result.plan.latency_ms == pytest.approx(700)
    assert result.plan.stages_ms["queue"] == pytest.approx(500)
    assert (result.plan.deadline_met, result.plan.latency_known) == (True, True)
    assert detect.calls[0][2].urgency.deadline == pytest.approx(CLOCK.monotonic_s() - 0.7 + 1.0)
    late = await submit(executor(Waits()), header(age_s=0.9))
    assert (late.plan.deadline_met, late.plan.latency_known) == (False, True)


@pytest.mark.parametrize("policy", ["block", "drop_oldest", "drop_late"])
async def test_a_frame_from_the_future_is_analysed_and_its_latency_is_not_known(policy, caplog):
    subject = executor(Waits(), policy)
    for seq in range(3):
        result = await submit(subject, header(seq, age_s=-7200))
        assert (result.outcome, result.plan.deadline_met, result.plan.latency_known) == ("analysed", False, False)
        assert result.plan.latency_ms == pytest.approx(200, abs=1)
    assert len(caplog.records) == 1
    assert "7200.0 s before they are captured" in caplog.text


async def test_a_clock_that_is_set_makes_no_frame_late_for_ever(clock, caplog):
    caplog.set_level("INFO")
    subject = executor(policy="drop_late")
    found = []
    for seq in range(30):
        if seq == 10:
            clock.set_back(-7200)  # ours goes forward, and is put right again
        if seq == 20:
            clock.set_back(7200)
        wrong_s = 7200 if 10 <= seq < 20 else 0
        clock.advance(0.1)
        found.append(await submit(subject, header(seq, age_s=0.05 + wrong_s)))
    assert {result.outcome for result in found} == {"analysed"}
    assert [result.plan.latency_known for result in found] == [True] * 10 + [False] * 10 + [True] * 10
    assert "agree again" in caplog.text


async def test_a_stream_that_moved_away_is_judged_anew():
    subject = executor()
    await submit(subject, header(0, age_s=-7200))
    subject.forget("cam")
    assert (await submit(subject, header(1))).plan.latency_known
