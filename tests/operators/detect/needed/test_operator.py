"""The operator around a detector that is known: what it publishes, audits and reports."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pytest

from operators.base import Call
from operators.detect.needed.needed_stream import SkipTerms
from operators.detect.needed.operator import DetectWhenNeeded
from operators.frames.frame import Box, Frame, Region
from operators.testing.builders import call, make_frame, so_far
from operators.testing.engine import FakeEngine
from serving.common.tensors import Image
from serving.errors import ModelError

FPS = 10
SIZE = (144, 256)


def picture(x: int | None) -> Image:
    """A textured background, and a bright patch at ``x`` unless it is None."""
    noise = np.random.default_rng(1).integers(60, 120, (*SIZE, 3), np.uint8)
    image: Image = cv2.GaussianBlur(noise, (0, 0), 1.5)
    if x is not None:
        patch = np.random.default_rng(2).integers(150, 255, (40, 40, 3), np.uint8)
        image[50:90, x : x + 40] = cv2.GaussianBlur(patch, (0, 0), 1.5)
    return image


class Finder:
    """Finds the bright patch, and notes on which frames; where it ``drifts``, at a place that no pixel explains."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.forgotten: list[str] = []
        self.drifts = False
        self.fails = False

    async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
        if frame.stream != "audit":
            self.asked.append(frame.seq)
        if self.fails:
            raise ModelError("no")
        bright = np.argwhere(frame.image.mean(axis=2) > 140)
        if not len(bright):
            return []
        bright[:, 1] += 50 if self.drifts and frame.stream == "audit" else 0
        (top, left), (bottom, right) = bright.min(axis=0), bright.max(axis=0) + 1
        height, width = frame.image.shape[:2]
        return [Region(0, "find", Box(left / width, top / height, right / width, bottom / height), "patch", 0.9)]

    def forget(self, stream: str) -> None:
        self.forgotten.append(stream)


def needed(finder: Finder, accuracy: float = 0.95, cost_s: float = 10.0) -> DetectWhenNeeded:
    engine = FakeEngine()
    engine.costs_s["finder"] = cost_s
    return DetectWhenNeeded("find", finder, "finder", SkipTerms(accuracy, 0.3, engine))


async def play(
    operator: DetectWhenNeeded, places: Sequence[int | None], stream: str = "cam", run: str = "run-1", begin: int = 0
) -> list[list[Region]]:
    found = []
    for number, x in enumerate(places, begin):
        frame = make_frame(number, number / FPS, picture(x), stream, run)
        found.append(list((await operator.process(frame, (), call("finder"))).regions))
        operator.published(so_far(stream))
    return found


async def test_a_still_picture_is_detected_seldom_and_its_objects_stay() -> None:
    finder = Finder()
    found = await play(needed(finder), [100] * 30)
    assert all(len(each) == 1 for each in found)
    assert finder.asked == [0, 20]
    ages = [each[0].age_s for each in found]
    assert ages[0] is None
    assert ages[1] == pytest.approx(1 / FPS)
    assert found[1][0].confidence < found[0][0].confidence == 0.9


async def test_a_moving_object_is_carried_between_detections() -> None:
    finder = Finder()
    places = [40 + 4 * number for number in range(30)]
    found = await play(needed(finder), places)
    assert len(finder.asked) < 20
    for x, (region,) in zip(places, found, strict=True):
        assert region.box.x_min == pytest.approx(x / SIZE[1], abs=0.03)
    assert any(region.age_s is not None for (region,) in found)


async def test_what_appears_is_found_on_its_first_frame() -> None:
    finder = Finder()
    found = await play(needed(finder), [None] * 6 + [120] * 3)
    assert [len(each) for each in found] == [0] * 6 + [1] * 3
    assert found[6][0].age_s is None


async def test_regions_that_are_given_out_are_new_objects_each_time() -> None:
    found = await play(needed(Finder()), [100] * 4)
    found[1][0].track_id = 5
    assert found[2][0].track_id is None
    assert len({id(each[0]) for each in found}) == 4


async def test_a_new_run_and_another_size_begin_with_the_detector() -> None:
    finder = Finder()
    operator = needed(finder)
    await play(operator, [100] * 3)
    await play(operator, [100] * 3, run="run-2")
    assert finder.asked == [0, 0]
    small = make_frame(3, 0.3, np.zeros((72, 128, 3), np.uint8), run="run-2")
    await operator.process(small, (), call("finder"))
    assert finder.asked == [0, 0, 3]


async def test_a_plan_that_does_not_allow_it_and_accuracy_one_detect_on_every_frame() -> None:
    finder = Finder()
    operator = needed(finder)
    for number in range(3):
        await operator.process(make_frame(number, number / FPS, picture(9)), (), call("finder", shortcuts=frozenset()))
    assert finder.asked == [0, 1, 2]
    strict = Finder()
    await play(needed(strict, accuracy=1.0), [100] * 5)
    assert strict.asked == [0, 1, 2, 3, 4]


async def reasons(operator: DetectWhenNeeded, places: Sequence[int | None]) -> list[tuple[bool | None, str]]:
    """By frame, whether the detector was skipped, and why or why not."""
    found = []
    for number, x in enumerate(places):
        answer = await operator.process(make_frame(number, number / FPS, picture(x)), (), call("finder"))
        found.append((answer.skipped, answer.reason))
    return found


async def test_every_frame_says_why_the_detector_ran_or_did_not() -> None:
    still = await reasons(needed(Finder()), [100] * 22)
    assert still[0] == (False, "nothing is known yet")
    assert still[1] == (
        True,
        "what has changed since the detector last ran lies within the known boxes, or has no name",
    )
    assert still[20] == (False, "it has not run for 2 s, though hardly anything moves")
    appearing = await reasons(needed(Finder()), [None] * 6 + [120])
    assert appearing[-1] == (False, "something moves outside of the known boxes")
    moving = await reasons(needed(Finder()), [40 + 4 * number for number in range(12)])
    assert (False, "objects move, and it runs at least once in 3 frames then") in moving
    (_, strict) = await reasons(needed(Finder(), accuracy=1.0), [100, 100])
    assert strict == (False, "no frame may be skipped at this accuracy, as far as audits have shown")


async def test_where_looks_cost_more_than_they_save_the_detector_runs_on_every_frame_and_it_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    finder = Finder()
    operator = needed(finder, cost_s=1e-9)
    await play(operator, [100] * 20)
    before = len(finder.asked)
    given = await operator.process(make_frame(20, 2.0, picture(100)), (), call("finder"))
    assert len(finder.asked) == before + 1 == 21
    assert given.declined["propagated"].startswith("skipping does not pay: it has saved 0.00 s of processor time, ")
    (plan,) = operator.plans()["cam"]
    assert (plan.phase, plan.pace) == ("off", "runs on every frame")
    assert plan.reason == given.declined["propagated"]
    assert plan.processor_s is not None
    assert plan.processor_s.saved <= 0
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("stream cam, node find: the detector runs on every frame: skipping does not")


async def test_looking_is_tried_again_ever_more_seldom_and_goes_on_once_it_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("operators.detect.needed.account.OVERDRAFT_REST", 0)  # a look costs a million detections here
    finder, engine = Finder(), FakeEngine()
    engine.costs_s["finder"] = 1e-9
    operator = DetectWhenNeeded("find", finder, "finder", SkipTerms(0.95, 0.3, engine))
    await play(operator, [100] * 1000)
    assert len(finder.asked) > 985
    engine.costs_s["finder"] = 10.0
    await play(operator, [100] * 1000, begin=1000)
    skipped = 2000 - len(finder.asked)
    assert skipped > 300, "after a rest of 800 frames at most"
    (plan,) = operator.plans()["cam"]
    assert (plan.phase, plan.reason) == ("probation", None)


async def test_a_detection_costs_what_is_done_around_the_network_too() -> None:
    class Handler(Finder):
        handling_s = 5.0

    engine = FakeEngine()
    engine.costs_s["finder"] = 1.0
    for finder, cost_s in ((Finder(), 1.0), (Handler(), 6.0)):
        operator = DetectWhenNeeded("find", finder, "finder", SkipTerms(0.95, 0.3, engine))
        await play(operator, [100] * 10)
        (plan,) = operator.plans()["cam"]
        assert plan.processor_s is not None
        assert plan.processor_s.oracle == cost_s
        assert plan.processor_s.avoided == pytest.approx(8 * cost_s), "the last frame is not booked yet"


async def test_audits_slow_down_a_stream_whose_objects_flow_gets_wrong() -> None:
    finder = Finder()
    finder.drifts = True
    operator = needed(finder)
    await play(operator, [100] * 600)
    await operator.close(10.0)
    (plan,) = operator.plans()["cam"]
    assert plan.audits > 3
    assert plan.switched_off >= 1


async def test_audits_of_a_good_stream_agree_and_the_report_says_how_much_was_skipped() -> None:
    operator = needed(Finder())
    await play(operator, [100] * 400)
    await operator.close(10.0)
    (plan,) = operator.plans()["cam"]
    assert (plan.kind, plan.oracle, plan.phase) == ("propagated", "finder", "probation")
    assert plan.audits > 3
    assert plan.agreement.found == 1.0
    assert plan.shortcut_share > 0.9
    operator.forget("cam")
    assert operator.plans() == {}
    assert operator.plans(gone=True)["cam"] == [plan]


async def test_an_audit_is_not_made_of_a_frame_whose_result_was_never_sent() -> None:
    operator = needed(Finder())
    for number in range(200):
        await operator.process(make_frame(number, number / FPS, picture(100)), (), call("finder"))
    await operator.close(5.0)
    (plan,) = operator.plans()["cam"]
    assert plan.audits == 0


async def test_a_detector_that_fails_is_asked_again_on_the_next_frame() -> None:
    finder = Finder()
    finder.fails = True
    operator = needed(finder)
    for number in range(2):
        with pytest.raises(ModelError):
            await operator.process(make_frame(number, number / FPS, picture(100)), (), call("finder"))
    finder.fails = False
    answer = await operator.process(make_frame(2, 0.2, picture(100)), (), call("finder"))
    assert len(answer.regions) == 1
    assert finder.asked == [0, 1, 2]


async def test_forgetting_a_stream_reaches_the_detector() -> None:
    finder = Finder()
    operator = needed(finder)
    await play(operator, [100])
    operator.forget("cam")
    operator.forget("never seen")
    assert finder.forgotten == ["cam", "never seen"]
