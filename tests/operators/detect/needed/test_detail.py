"""Savings by skipped frames are spent on showing the network more of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from operators.base import Call, NodeAnswer
from operators.decision import Past
from operators.detect.detail.dial import AutoDetail
from operators.detect.needed.needed_stream import SkipTerms
from operators.detect.needed.operator import DetectWhenNeeded
from operators.frames.frame import Box, Frame, Region
from operators.testing.builders import call, make_frame
from tests.operators.detect.detail.test_stream import Shapes
from tests.operators.detect.needed.test_operator import FPS, picture

NEAR, FAR = Box(0.1, 0.1, 0.5, 0.6), Box(0.8, 0.8, 0.82, 0.83)


class Beholder:
    """Finds a thing that is near, and with more than 600 pixels one that is far; notes how much it was shown."""

    def __init__(self) -> None:
        self.shown: list[int | None] = []

    async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
        if frame.stream != "audit":
            self.shown.append(given.detail)
        boxes = [NEAR, FAR] if given.detail is not None and given.detail > 600 else [NEAR]
        return [Region(0, "find", box, "thing", 0.9) for box in boxes]

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


def looking(most_cost: float = 1.0) -> tuple[Beholder, DetectWhenNeeded]:
    beholder, engine = Beholder(), Shapes()
    engine.costs_s["net"] = 10.0
    terms = SkipTerms(0.95, 0.3, engine, detail=AutoDetail(most_cost))
    return beholder, DetectWhenNeeded("find", beholder, "net", terms)


async def play(operator: DetectWhenNeeded, frames: int, begin: int = 0, given: Call | None = None) -> list[NodeAnswer]:
    image = picture(None).repeat(4, axis=0).repeat(4, axis=1)
    answers = []
    for number in range(begin, begin + frames):
        frame = make_frame(number, number / FPS, image)
        answers.append(await operator.process(frame, (), given or call("net")))
        operator.published(frame.header.id)
    return answers


async def test_a_quiet_stream_is_shown_more_and_every_frame_says_how_much() -> None:
    beholder, operator = looking()
    answers = await play(operator, 200)
    assert (beholder.shown[0], beholder.shown[-1]) == (416, 832)
    assert (answers[0].detail, answers[-1].detail) == (416, 832)
    (plan,) = operator.plans()["cam"]
    assert plan.detail is not None
    assert (plan.detail.width, plan.detail.height) == (832, 480)
    await operator.close(1.0)


async def test_what_audits_find_with_more_detail_is_told_and_not_held_against_skipping() -> None:
    _, operator = looking(most_cost=0.01)
    await play(operator, 600)
    await operator.close(10.0)
    (plan,) = operator.plans()["cam"]
    assert plan.audits > 3
    assert plan.agreement.found == 1.0
    assert plan.detail is not None
    assert (plan.detail.compared, plan.detail.widest) == (416, 832)
    assert plan.detail.audits == (plan.audits + 3) // 4
    assert plan.detail.agreement == 0.5, "one of the two things that the widest shows is missing"


async def test_boxes_that_were_found_before_the_width_changed_are_audited_with_what_they_were_found_with() -> None:
    beholder, operator = looking()
    await play(operator, 1000)
    await operator.close(10.0)
    assert 832 in beholder.shown
    (plan,) = operator.plans()["cam"]
    assert plan.agreement.found == 1.0


async def test_a_missed_deadline_narrows_the_next_frame_where_frames_can_be_late() -> None:
    given = call("net")
    late = replace(given, decision=replace(given.decision, budget_ms=-1.0))
    for waits, detail in ((True, 832), (False, 416)):
        beholder, operator = looking()
        await play(operator, 200)
        await play(operator, 25, begin=200, given=replace(late, unhurried=waits))
        await play(operator, 25, begin=225)
        assert beholder.shown[-1] == detail
        await operator.close(1.0)


async def test_a_recording_is_shown_as_much_as_it_was() -> None:
    beholder, operator = looking()
    given = call("net")
    for detail in (640, 416):
        past = replace(given, decision=replace(given.decision, past=Past(False, detail=detail)))
        (answer,) = await play(operator, 1, given=past)
        assert answer.detail == detail
    assert beholder.shown == [640, 416]
