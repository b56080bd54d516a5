"""Crops and samples wait for the results of their frames, and are looked at once these are published."""

from __future__ import annotations

from functools import partial

import numpy as np

from operators.background import MAX_WAITING, Backlog, PendingLook, UntilPublished
from operators.wire.schema import FrameId
from serving.common.tensors import Image
from tests.turns import turns

CROP = np.zeros((2, 2, 3), np.uint8)


def frame(seq: int, run: str = "run", stream: str = "cam") -> FrameId:
    return FrameId(stream, run, seq)


def test_a_published_frame_takes_those_before_it_in_its_run_along() -> None:
    kept = UntilPublished[str]()
    kept.keep(frame(1), ["a"])
    kept.keep(frame(2), ["b", "c"])
    kept.keep(frame(3), ["d"])
    kept.keep(frame(1, "next"), ["e"])
    kept.keep(frame(1, stream="gate"), ["f"])
    assert kept.published(frame(2)) == ["a", "b", "c"]
    assert kept.published(frame(2)) == []
    assert len(kept) == 3
    assert kept.dropped(frame(3)) == ["d"]
    assert kept.forgotten("gate") == ["f"]
    assert kept.forgotten() == ["e"]
    assert len(kept) == 0


async def test_crops_are_looked_at_in_the_order_of_frames_once_these_are_published() -> None:
    async def look(crop: Image) -> int:
        return int(crop[0, 0, 0])

    seen, lost = list[int](), list[int]()
    backlog: Backlog[Image, int] = Backlog(look, "it cannot be looked at")
    for seq in range(4):
        backlog.hold(frame(seq), [PendingLook(CROP + seq, seen.append, partial(lost.append, seq))])
    backlog.published(frame(1))
    backlog.dropped(frame(2))
    await turns()
    assert (seen, lost) == ([0, 1], [2])
    await backlog.close(1.0)
    assert (seen, lost) == ([0, 1], [2, 3])


async def test_what_is_held_takes_room() -> None:
    async def look(crop: Image) -> int:
        return 0

    backlog: Backlog[Image, int] = Backlog(look, "it cannot be looked at")
    looks = [PendingLook(CROP, lambda seen: None, lambda: None)] * MAX_WAITING
    backlog.hold(frame(0), looks)
    assert not backlog.has_room
    backlog.forget("cam")
    assert backlog.has_room
