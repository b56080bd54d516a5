"""An oracle elsewhere that answers when it can: exits answer at once, and learn from what comes later."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from operators.frames.frame import Region
from operators.recognise.exits.node_exits import TOGETHER
from operators.testing import call, make_frame, make_region, so_far
from serving.errors import Unavailable
from tests.operators.recognise.exits.crossing import PAINT
from tests.operators.recognise.exits.lent import FAR, LENT, LentCrossing
from tests.turns import settled, turns

COLOURS = ("blue", "green", "red")


class Late(LentCrossing):
    """Objects are tracked, one in a frame."""

    def __init__(self) -> None:
        super().__init__(per_track=True, late=True)

    async def trusted(self) -> Late:
        await self.tracks(COLOURS, 250)
        assert self.phase("cached") == "trusted"
        return self

    def hold(self) -> None:
        """The oracle does not answer from now on."""
        self.far.gate.clear()
        self.far.holds_all = True

    async def let_go(self) -> None:
        self.far.gate.set()
        await turns()
        await settled()

    async def hurried(self, colour: str, track: int, picture: np.ndarray | None = None) -> Region:
        """A frame that cannot wait."""
        image = np.zeros((100, 100, 3), np.uint8) if picture is None else picture
        image[:] = PAINT[colour]
        region = make_region(0.3, 0.3, track_id=track)
        frame = make_frame(self.seq, self.seq / 10, image)
        self.seq += 1
        await self.node.process(frame, [region], call(FAR, deadline=time.monotonic() + 0.01))
        self.node.published(so_far())
        await turns()
        return region

    def samples(self) -> int:
        return sum(map(len, self.maker.samples.values()))


def looked(regions: Sequence[Region]) -> list[str | None]:
    return [each.attributes[-1].looked or None for each in regions]


async def test_answers_that_come_after_their_frames_are_samples() -> None:
    late = Late()
    await late.tracks(COLOURS, 5)
    assert late.cut.is_open
    late.hold()
    before, calls, through = late.samples(), late.calls, late.looks(LENT)
    shown = [await late.hurried("blue", track) for track in range(900, 900 + TOGETHER)]
    assert looked(shown) == [None] * TOGETHER
    assert late.calls - calls == TOGETHER
    assert late.samples() == before
    await late.let_go()
    assert late.samples() >= before + TOGETHER // 2
    again = await late.hurried("blue", 900)
    assert (again.attributes[-1].label, again.attributes[-1].looked) == ("blue", "oracle")
    assert late.looks(LENT) - through == TOGETHER, "what waits for an answer is not looked at again"


async def test_exits_in_service_answer_at_once_though_the_oracle_says_nothing() -> None:
    late = await Late().trusted()
    late.hold()
    calls, said = late.calls, [await late.hurried("green", track) for track in range(2000, 2060)]
    assert {each.attributes[-1].label for each in said} == {"green"}
    assert looked(said) == ["cached"] * 60
    assert late.calls - calls <= 10, "those that are drawn"
    before = late.plan("cached").audits
    await late.let_go()
    for _ in range(40):  # they are concluded
        late.seq += 1
        await late.node.process(make_frame(late.seq, late.seq / 2), [], call(FAR))
    assert late.plan("cached").audits > before
    assert late.plan("cached").agreement.disagreements == 0


async def test_answers_that_come_once_other_exits_are_in_use_are_no_evidence_for_these() -> None:
    late = Late()
    while late.shared is None or late.shared.used is None:
        await late.tracks(COLOURS, 3)
    late.hold()
    for track in range(2000, 2030):
        await late.hurried("green", track)
    late.shared.used = replace(late.shared.used, number=7)
    await late.hurried("green", 3000)
    await late.let_go()
    state = late.node._streams.known()["cam"].audits.of("cached").state
    assert (state.edition, state.phase) == (7, "shadow")
    assert state.recent.elder.objects == 1, "of the last look alone"


async def test_what_no_exit_is_sure_of_waits_for_the_oracle() -> None:
    late = await Late().trusted()
    exits = late.shared.of("cam").in_use if late.shared else None
    assert exits is not None
    for exit_ in exits.exits.by_cut.values():
        object.__setattr__(exit_, "threshold", 0.0)
    late.hold()
    assert looked([await late.hurried("red", 3000)]) == [None]
    await late.let_go()
    assert looked([await late.hurried("red", 3000)]) == ["oracle"]


async def test_where_the_oracle_fails_exits_go_on() -> None:
    late = await Late().trusted()
    late.far.fails[FAR] = Unavailable("the calls of the day are made")
    said = [await late.hurried("blue", track) for track in range(4000, 4030)]
    assert looked(said) == ["cached"] * 30


async def test_an_answer_that_says_otherwise_shows_the_object_though_its_frame_is_gone() -> None:
    late = await Late().trusted()
    late.words["blue"] = "red"
    await late.tracks(["blue"], 60)
    outcomes = late.heard.calls["audit_disagreed"]
    assert outcomes
    for found, picture in outcomes:
        assert (found.shortcut.found[0].label, found.oracle.found[0].label) == ("blue", "red")
        assert picture.shape == (20, 20, 3)
        assert picture.mean(axis=(0, 1)) == pytest.approx(PAINT["blue"])


async def test_frames_are_not_kept_for_answers_to_come() -> None:
    late = Late()
    await late.tracks(COLOURS, 5)
    late.hold()

    class Watched(np.ndarray):
        """Can be referred to weakly."""

    picture = np.zeros((100, 100, 3), np.uint8).view(Watched)
    kept = weakref.ref(picture)
    await late.hurried("blue", 5000, picture)
    del picture
    gc.collect()
    assert kept() is None
    await late.let_go()


async def test_a_stream_that_is_forgotten_is_not_learnt_from_later() -> None:
    late = await Late().trusted()
    late.hold()
    for track in range(6000, 6100):
        await late.hurried("blue", track)
    late.node.forget("cam")
    before = late.samples()
    await late.let_go()
    assert late.samples() == before
    assert late.node._streams.known(gone=False) == {}
