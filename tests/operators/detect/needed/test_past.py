"""A detector that may skip frames skips those that it skipped when they were recorded, and plans the same together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from operators.base import NodeAnswer
from operators.decision import Past
from operators.detect.needed.operator import DetectWhenNeeded
from operators.frames.frame import Region
from tests.operators.detect.needed.test_look_ahead import Behind, clip
from tests.operators.detect.needed.test_operator import FPS, Finder, needed

COMES_AND_GOES = (
    [None] * 3 + [40 + 5 * n for n in range(17)] + [130] * 12 + [130 - 7 * n for n in range(14)] + [None] * 4
)


async def once(finder: Finder, most: int) -> list[NodeAnswer]:
    behind = Behind(clip(COMES_AND_GOES))
    behind.most = most
    operator = needed(finder)
    return [await operator.process(frame, (), given) for frame, given in behind.calls()]


def found(answers: Sequence[NodeAnswer]) -> list[Sequence[Region]]:
    return [each.regions for each in answers]


def past_of(then: Sequence[NodeAnswer], seq: int) -> Past:
    given = then[seq]
    if given.window != seq:
        return Past(given.skipped is True)
    of = [at for at, each in enumerate(then) if each.window == seq]
    return Past(given.skipped is True, [not then[at].skipped for at in of], of[-1] / FPS)


async def again(operator: DetectWhenNeeded, then: Sequence[NodeAnswer], begin: int = 0) -> list[NodeAnswer]:
    behind, answers = Behind(clip(COMES_AND_GOES)), list[NodeAnswer]()
    for frame, given in list(behind.calls())[begin:]:
        behind.at = frame.seq
        asked = replace(given, decision=replace(given.decision, past=past_of(then, frame.seq)))
        answers.append(await operator.process(frame, (), asked))
    return answers


@pytest.mark.parametrize("most", [0, 3, 100])
async def test_what_was_skipped_is_skipped_again(most: int) -> None:
    then, now = Finder(), Finder()
    before = await once(then, most)
    assert {each.skipped for each in before} == {True, False}
    assert any(each.window is not None for each in before) == (most > 0)
    operator = needed(now, accuracy=0.0 if most else 0.95)  # by itself it would decide otherwise
    assert found(await again(operator, before)) == found(before)
    assert now.asked == then.asked


async def test_one_that_is_too_dear_by_now_skips_what_it_skipped() -> None:
    then, now = Finder(), Finder()
    before = await once(then, 100)
    assert found(await again(needed(now, cost_s=1e-9), before)) == found(before)


async def test_a_recording_that_begins_within_a_window_is_followed_as_far_as_it_goes() -> None:
    then, now = Finder(), Finder()
    before = await once(then, 100)
    begin = next(seq for seq, each in enumerate(before) if each.window is not None and each.window < seq and seq > 8)
    assert found(await again(needed(now), before, begin))[-12:] == found(before)[-12:]


async def test_a_window_that_was_divided_otherwise_is_planned_anew() -> None:
    before = await once(Finder(), 100)
    begins = next(seq for seq, each in enumerate(before) if each.window == seq)
    behind, finder = Behind(clip(COMES_AND_GOES)), Finder()
    operator = needed(finder)
    for frame, given in behind.calls():
        past = past_of(before, frame.seq)
        if frame.seq == begins:  # somebody has cut it
            past = past._replace(window=past.window[:-1])
        await operator.process(frame, (), replace(given, decision=replace(given.decision, past=past)))
    assert finder.asked
