"""What a recording says of decisions: which frames belong together, and what a detector did on each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from operators.decision import Past
from operators.wire.schema import NodeDecision, Result
from pipelines.execute.ahead import FRAMES_AHEAD
from pipelines.observe.record.reading import RecordedFrame
from pipelines.planning.planner import Planner, Start, Step
from pipelines.run.replay.past import AsThen, is_whole, pasts, together
from tests.operators.publish.messages import result

Did = tuple[bool | None, int | None]
"""Whether a frame was skipped, and the first frame of its window."""


def recorded(*did: Did, first: int = 0) -> list[Result]:
    return [_of(first + n, each) for n, each in enumerate(did)]


def _of(seq: int, did: Did) -> Result:
    decision = NodeDecision(variant="m", skipped=did[0], window=did[1])
    found = result(seq)
    return msgspec.structs.replace(found, plan=msgspec.structs.replace(found.plan, nodes={"detect": decision}))


def sizes(results: Sequence[Result | None]) -> list[int]:
    return [len(each) for each in together(RecordedFrame(1, n, each) for n, each in enumerate(results))]


def test_frames_of_a_window_are_together_and_others_alone() -> None:
    alone, window = [(False, None), (True, None)], [(True, 2), (True, 2), (False, 2)]
    assert sizes(recorded(*alone, *window, (True, 5), (False, 5), (None, None))) == [1, 1, 3, 2, 1]
    assert sizes([*recorded((True, 0)), None, *recorded((True, 0), first=2)]) == [1, 2]


def test_what_is_together_is_bounded() -> None:
    endless = recorded(*[(True, 0)] * 200)
    assert max(sizes(endless)) == FRAMES_AHEAD
    large = [msgspec.structs.replace(each, frame=_wide(each)) for each in endless]
    assert max(sizes(large)) == 1


def _wide(each: Result) -> object:
    return msgspec.structs.replace(each.frame, width=8000, height=8000)


def test_the_first_of_a_window_knows_the_others() -> None:
    found = pasts(recorded((True, 7), (False, 7), (True, 7), (False, 7), first=7))
    assert found[0]["detect"] == Past(True, [False, True, False, True], 1.0)
    assert [each["detect"] for each in found[1:]] == [Past(False), Past(True), Past(False)]
    assert pasts(recorded((None, None))) == [{}]


@pytest.mark.parametrize(
    ("did", "first", "whole"),
    [
        ([(None, None)], 0, True),
        ([(True, None)], 0, True),
        ([(True, 3), (False, 3)], 3, True),
        ([(True, 3), (True, 3)], 3, False),  # its end was not recorded
        ([(True, 3), (False, 3)], 4, False),  # nor this one's beginning
    ],
)
def test_a_window_is_whole_from_its_first_frame_to_one_that_was_detected(
    did: list[Did], first: int, whole: bool
) -> None:
    found = recorded(*did, first=first)
    assert is_whole(found) == whole
    if not whole:
        assert all(not each["detect"].window for each in pasts(found))


def test_how_much_a_detector_was_shown_is_known() -> None:
    (shown,) = recorded((False, None))
    plan = msgspec.structs.replace(shown.plan, nodes={"detect": NodeDecision(variant="m", skipped=False, detail=832)})
    assert pasts([msgspec.structs.replace(shown, plan=plan)]) == [{"detect": Past(False, detail=832)}]


def test_the_planner_is_reminded_of_the_frame_at_hand() -> None:
    planner = AsThen(Planner())
    frames = recorded((True, None), (False, None))
    for frame, past in zip(frames, pasts(frames), strict=True):
        planner.remember(frame.id, past)
    step = Step("yard", "detect", ["m"], 0.0, 1.0, 0.0)
    for frame in reversed(frames):
        planner.begins(Start("yard", 0.0, 1.0, False, (), False, frame.id))
        assert planner.plan(step).past == Past(frame.seq == 0)
        assert planner.plan(step._replace(node="other")).past is None
    planner.begins(Start("yard", 0.0, 1.0, False, (), False, result(9).id))
    assert planner.plan(step).past is None
    planner.forget("yard")
