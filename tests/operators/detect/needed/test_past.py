"""A detector that may skip frames skips those that it skipped when they were recorded, and plans the same together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from operators.base import Call
from operators.detect.needed.operator import DetectWhenNeeded
from operators.frames.frame import Region
from operators.plan import Past
from tests.operators.detect.needed.test_look_ahead import Behind, clip
from tests.operators.detect.needed.test_operator import FPS, Finder, needed

COMES_AND_GOES = (
    [None] * 3 + [40 + 5 * n for n in range(17)] + [130] * 12 + [130 - 7 * n for n in range(14)] + [None] * 4
)


async def once(finder: Finder, most: int) -> tuple[list[list[Region]], list[Call]]:
    behind, found, calls = Behind(clip(COMES_AND_GOES)), list[list[Region]](), list[Call]()
    behind.most = most
    operator = needed(finder)
    for frame, given in behind.calls():
        found.append(await operator.process(frame, (), given))
        calls.append(given)
    return found, calls


def past_of(calls: Sequence[Call], seq: int) -> Past:
    given = calls[seq]
    if given.window != seq:
        return Past(given.skipped is True)
    of = [at for at, each in enumerate(calls) if each.window == seq]
    return Past(given.skipped is True, [not calls[at].skipped for at in of], of[-1] / FPS)


async def again(operator: DetectWhenNeeded, calls: Sequence[Call], begin: int = 0) -> list[list[Region]]:
    behind, found = Behind(clip(COMES_AND_GOES)), list[list[Region]]()
    for frame, given in list(behind.calls())[begin:]:
        behind.at = frame.seq
        given.plan = replace(given.plan, past=past_of(calls, frame.seq))
        found.append(await operator.process(frame, (), given))
    return found


@pytest.mark.parametrize("most", [0, 3, 100])
async def test_what_was_skipped_is_skipped_again(most: int) -> None:
    then, now = Finder(), Finder()
    found, calls = await once(then, most)
    assert {each.skipped for each in calls} == {True, False}
    assert any(each.window is not None for each in calls) == (most > 0)
    operator = needed(now, accuracy=0.0 if most else 0.95)  # by itself it would decide otherwise
    assert await again(operator, calls) == found
    assert now.asked == then.asked


async def test_one_that_is_too_dear_by_now_skips_what_it_skipped() -> None:
    then, now = Finder(), Finder()
    found, calls = await once(then, 100)
    assert await again(needed(now, cost_s=1e-9), calls) == found


async def test_a_recording_that_begins_within_a_window_is_followed_as_far_as_it_goes() -> None:
    then, now = Finder(), Finder()
    found, calls = await once(then, 100)
    begin = next(seq for seq, each in enumerate(calls) if each.window is not None and each.window < seq and seq > 8)
    assert (await again(needed(now), calls, begin))[-12:] == found[-12:]


async def test_a_window_that_was_divided_otherwise_is_planned_anew() -> None:
    _, calls = await once(Finder(), 100)
    begins = next(seq for seq, each in enumerate(calls) if each.window == seq)
    behind, finder = Behind(clip(COMES_AND_GOES)), Finder()
    operator = needed(finder)
    for frame, given in behind.calls():
        past = past_of(calls, frame.seq)
        if frame.seq == begins:  # somebody has cut it
            past = past._replace(window=past.window[:-1])
        given.plan = replace(given.plan, past=past)
        await operator.process(frame, (), given)
    assert finder.asked
