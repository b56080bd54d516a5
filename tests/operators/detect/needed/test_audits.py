"""Audits of skipped frames: on what they run the detector, and what they tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from operators.base import Call
from operators.detect.needed.audits import Before, FrameAudit, Published, SkipAudits
from operators.frames.frame import Box, Frame, Region
from operators.testing.builders import make_frame
from tests.pipelines.run.recording import Recording

LEFT, RIGHT = Box(0.1, 0.1, 0.3, 0.3), Box(0.6, 0.6, 0.8, 0.8)


class Counter:
    """Finds as many objects as the picture is bright, and notes the pictures."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    async def process(self, frame: Frame, regions: Sequence[Region], given: Call) -> list[Region]:
        self.seen.append(int(frame.image[0, 0, 0]))
        return [thing(box) for box in (LEFT, RIGHT)[: self.seen[-1]]]

    def forget(self, stream: str) -> None:
        raise AssertionError("an audit has no stream")


def thing(box: Box) -> Region:
    return Region(0, "find", box, "car", 0.9)


def bright(level: int) -> Frame:
    return make_frame(level, 0.1 * level, np.full((4, 6, 3), level, np.uint8))


@pytest.mark.parametrize(
    ("found", "published", "seen", "deficit"),
    [
        (None, [LEFT], [2, 1], 0.0),  # the detector itself found one more than before
        (None, [LEFT, RIGHT], [2], 0.0),  # the published regions agree
        ([thing(LEFT)], [LEFT], [2], 0.0),
        ([thing(LEFT), thing(RIGHT)], [LEFT], [2], 0.5),  # it agreed with itself, the published regions lack one of two
    ],
)
async def test_the_frame_before_is_detected_on_where_it_matters_and_was_not_before(
    found: list[Region] | None, published: list[Box], seen: list[int], deficit: float
) -> None:
    detector, told = Counter(), list[FrameAudit]()
    heard = Recording()
    audits = SkipAudits("find", detector, "finder", 0.5, heard)
    audits.audit(Before(bright(1).image, found), bright(2), Published([thing(box) for box in published]), told.append)
    audits.published(bright(2).header.id)
    await audits.close(10.0)
    assert detector.seen == seen
    assert [(each.deficit, each.runs, len(each.now)) for each in told] == [(deficit, len(seen), 2)]
    disagreements = heard.calls["audit_disagreed"]
    assert len(disagreements) == (1 if deficit else 0)
    for said, picture in disagreements:
        assert (said.node, said.kind, said.media_time_s, picture.mean()) == ("find", "propagated", 0.2, 2)
        assert (len(said.shortcut.found), len(said.oracle.found)) == (1, 2)
        assert said.shortcut.found[0].bounding_box.x_min == LEFT.x_min
