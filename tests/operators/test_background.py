"""Crops and samples wait for the results of their frames, and are looked at once these are published."""

from __future__ import annotations

from functools import partial

import numpy as np

from operators.background import MAX_WAITING, Backlog, PendingLook
from operators.wire.schema import FrameId
from serving.common.tensors import Image
from tests.turns import turns

CROP = np.zeros((2, 2, 3), np.uint8)


def frame(seq: int, run: str = "run", stream: str = "cam") -> FrameId:
    return FrameId(stream, run, seq)


async def test_a_published_frame_takes_those_before_it_in_its_run_along() -> None:
    async def look(crop: Image) -> int:
        return 0

    seen, lost = list[str](), list[str]()
    backlog: Backlog[Image, int] = Backlog(look, "it cannot be looked at")
    for of, names in (
        (frame(1), "a"),
        (frame(2), "bc"),
        (frame(3), "d"),
        (frame(1, "next"), "e"),
        (frame(1, stream="gate"), "f"),
    ):
        backlog.hold(of, [PendingLook(CROP, partial(_adds, seen, name), partial(lost.append, name)) for name in names])
    backlog.published(frame(2))
    backlog.published(frame(2))
    await turns()
    assert (seen, lost) == (["a", "b", "c"], [])
    backlog.dropped(frame(3))
    assert lost == ["d"]
    backlog.forget("gate")
    assert lost == ["d", "f"]
    await backlog.close(1.0)
    assert (seen, lost) == (["a", "b", "c"], ["d", "f", "e"])


def _adds(names: list[str], name: str, _: int) -> None:
    names.append(name)


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
