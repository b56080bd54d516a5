"""The operator where frames wait behind the one at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from operators.base import Call
from operators.detect.needed.operator import DetectWhenNeeded
from operators.detect.needed.policy import AHEAD
from operators.frames.frame import Frame, Region
from operators.testing.builders import call, make_frame
from serving.errors import ModelError
from tests.operators.detect.needed.test_operator import FPS, SIZE, Finder, needed, picture


class Behind:
    """All frames of a clip, of which those behind the one at hand wait; notes for which times it was asked."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames, self.at, self.asked = frames, 0, list[float]()
        self.most = 100

    async def until(self, media_time_s: float) -> Sequence[Frame]:
        self.asked.append(media_time_s)
        ahead = self.frames[self.at + 1 :][: self.most]
        enough = next((n for n, frame in enumerate(ahead, 1) if frame.media_time_s >= media_time_s), len(ahead))
        return ahead[:enough]

    def calls(self) -> Iterator[tuple[Frame, Call]]:
        """Each frame with its call, in order."""
        for at, frame in enumerate(self.frames):
            self.at = at
            yield frame, replace(call("finder"), ahead=self)


def clip(places: Sequence[int | None], run: str = "run-1") -> list[Frame]:
    return [make_frame(n, n / FPS, picture(x), run=run) for n, x in enumerate(places)]


async def play(operator: DetectWhenNeeded, behind: Behind) -> list[list[Region]]:
    found = []
    for frame, given in behind.calls():
        found.append(list((await operator.process(frame, (), given)).regions))
        operator.published(frame.header.id)
    return found


MOVING = [40 + 4 * number for number in range(40)]


async def test_moving_objects_are_detected_less_often_and_lie_where_they_are() -> None:
    live, ahead = Finder(), Finder()
    for finder, most in ((live, 0), (ahead, 100)):
        behind = Behind(clip(MOVING))
        behind.most = most
        found = await play(needed(finder), behind)
        for x, (region,) in zip(MOVING, found, strict=True):
            assert region.box.x_min == pytest.approx(x / SIZE[1], abs=0.03)
    assert len(ahead.asked) < 0.8 * len(live.asked)
    assert len(set(ahead.asked)) == len(ahead.asked)


async def test_without_frames_behind_it_decides_as_it_does_live() -> None:
    alone, waits = Finder(), Finder()
    behind = Behind(clip(MOVING))
    behind.most = 0
    found = await play(needed(waits), behind)
    operator = needed(alone)
    for frame, regions in zip(behind.frames, found, strict=True):
        assert (await operator.process(frame, (), call("finder"))).regions == regions
    assert waits.asked == alone.asked
    assert behind.asked


async def test_still_frames_go_out_at_once() -> None:
    finder, behind = Finder(), Behind(clip([100] * 45))
    await play(needed(finder), behind)
    assert behind.asked == []
    assert finder.asked == [0, 20, 40]


async def test_what_appears_is_found_by_halves() -> None:
    finder = Finder()
    behind = Behind(clip([None] * 6 + [120] * 10))
    found = await play(needed(finder), behind)
    assert [len(each) for each in found] == [0] * 6 + [1] * 10
    assert behind.asked[0] == pytest.approx(1.0, abs=0.01)
    assert len(finder.asked) < 8


async def test_a_detector_that_fails_on_a_frame_ahead_does_not_fail_the_one_at_hand() -> None:
    class Partly(Finder):
        async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
            if frame.seq in (0, 6):
                self.asked.append(frame.seq)
                raise ModelError("no")
            return await super().process(frame, regions, given)

    failed, finder = [], Partly()
    operator = needed(finder)
    for frame, given in Behind(clip(MOVING[:20])).calls():
        try:
            assert len((await operator.process(frame, (), given)).regions) == 1
        except ModelError:
            failed.append(frame.seq)
    assert failed == [0]
    assert 6 in finder.asked


async def test_a_new_run_forgets_what_was_planned_for_the_old_one() -> None:
    finder = Finder()
    operator, behind = needed(finder), Behind(clip(MOVING[:10]))
    for frame, given in islice(behind.calls(), 3):
        await operator.process(frame, (), given)
    assert max(finder.asked) > 2
    other = [(await operator.process(frame, (), call("finder"))).regions for frame in clip([None] * 6, run="run-2")]
    assert other == [[]] * 6


async def test_frames_of_another_size_end_a_window() -> None:
    frames = clip(MOVING[:6])
    small = [make_frame(n, n / FPS, np.zeros((72, 128, 3), np.uint8)) for n in range(6, 9)]
    finder = Finder()
    found = await play(needed(finder), Behind([*frames, *small]))
    assert [len(each) for each in found] == [1] * 6 + [0] * 3
    assert 6 in finder.asked


async def test_a_plan_that_does_not_allow_it_detects_on_frames_that_were_to_be_filled() -> None:
    finder = Finder()
    operator = needed(finder)
    for frame, given in Behind(clip(MOVING[:12])).calls():
        asked = call("finder", shortcuts=frozenset()) if frame.seq >= 3 else given
        (region,) = (await operator.process(frame, (), asked)).regions
        assert region.age_s is None or frame.seq < 3
    assert set(range(3, 12)) <= set(finder.asked)


async def test_audits_shorten_the_windows_of_a_stream_whose_objects_are_elsewhere() -> None:
    finder = Finder()
    finder.drifts = True
    operator = needed(finder)
    there_and_back = [40 + 4 * abs(n % 40 - 20) for n in range(600)]
    await play(operator, Behind(clip(there_and_back)))
    await operator.close(10.0)
    (plan,) = operator.plans()["cam"]
    assert plan.audits > 3
    assert plan.switched_off >= 1


async def test_accuracy_one_never_looks_ahead() -> None:
    finder, behind = Finder(), Behind(clip(MOVING[:8]))
    await play(needed(finder, accuracy=1.0), behind)
    assert finder.asked == list(range(8))
    assert behind.asked == []


async def test_where_looking_ahead_does_not_pay_the_detector_runs_on_every_frame_once() -> None:
    finder = Finder()
    operator = needed(finder, cost_s=1e-9)
    found = await play(operator, Behind(clip([40 + number % 150 for number in range(60)])))
    assert all(len(each) == 1 for each in found)
    assert len(finder.asked) == len(set(finder.asked)), "what was found ahead is not found again"
    assert set(finder.asked) >= set(range(20, 60))
    (plan,) = operator.plans()["cam"]
    assert plan.phase == "off"


async def test_frames_of_a_window_say_that_they_were_looked_at_ahead() -> None:
    behind, operator = Behind(clip(MOVING)), needed(Finder())
    said: set[tuple[bool | None, str]] = set()
    for frame, given in behind.calls():
        answer = await operator.process(frame, (), given)
        if answer.window is not None:
            said.add((answer.skipped, answer.reason))
    assert said == {(False, AHEAD[True]), (True, AHEAD[False])}
