"""Some of what networks are shown is kept, in one shape and bounded, and what they take is added up."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from operators.testing import FakeEngine, card_of, scores
from pipelines.measure.stand_ins import shown
from pipelines.measure.stand_ins.shown import LEAST_ITEMS, ShownItems, Watched
from serving.scheduling.requests import BACKGROUND, Urgency

FRAME = Urgency(1e9)


def says_blue(batch: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    return [scores(["blue"] * len(batch))]


def watched() -> tuple[Watched, FakeEngine]:
    engine = FakeEngine(net=(card_of("net"), says_blue), other=(card_of("other"), says_blue))
    engine.costs_s["net"] = 0.5
    return Watched(engine, ["net"], random.Random(0), shown.ROOM), engine


def batch(count: int = 1, value: float = 0.0, size: int = 4) -> NDArray[np.float32]:
    return np.full((count, 3, size, size), value, np.float32)


async def test_looks_at_frames_are_added_up_with_exits_and_without() -> None:
    engine, below = watched()
    await engine.infer("net", batch(3), FRAME)
    cut = engine.add_cuts("net", ["tensor"])
    below.costs_s[cut] = 0.25
    below._cuts.clear()
    await engine.infer(cut, batch(2), FRAME)
    await engine.infer("net", batch(5), BACKGROUND)
    await engine.infer("other", batch(5), FRAME)
    use = engine.uses["net"]
    assert (use.taken_s, use.item_s, len(use.items)) == (2.0, 0.25, 2)


def test_items_are_drawn_from_all_batches_and_bounded() -> None:
    use = ShownItems(random.Random(1), shown.ROOM)
    for number in range(10 * shown.ROOM.items):
        assert use.is_shown == (number >= LEAST_ITEMS)
        use.ran(batch(2, number), None)
    values = {float(item.max()) for item in use.items}
    assert len(use.items) == shown.ROOM.items
    assert max(values) > 9 * shown.ROOM.items
    assert min(values) < 2 * shown.ROOM.items
    assert {item.dtype for item in use.items} == {np.dtype(np.float16)}
    assert use.taken_s == 0.0


def test_large_pictures_are_bounded_by_their_bytes(monkeypatch: object) -> None:
    use = ShownItems(random.Random(1), shown.ROOM)
    for _ in range(200):
        use.ran(batch(1, size=512), None)
    assert sum(item.nbytes for item in use.items) <= shown.ROOM.nbytes
    assert len(use.items) == shown.ROOM.nbytes // (3 * 512 * 512 * 2)
    huge = ShownItems(random.Random(1), shown.ROOM)
    huge.ran(batch(1, size=2048), None)
    assert not huge.items
    assert not huge.is_shown


def test_pictures_of_the_commonest_shape_are_compared_whatever_came_first() -> None:
    use = ShownItems(random.Random(1), shown.ROOM)
    use.ran(batch(1, size=8), None)
    for _ in range(5):
        use.ran(batch(1), None)
    assert [item.shape for item in use.items] == [(3, 4, 4)] * 5
    for _ in range(20):
        use.ran(batch(1, size=1024), None)
    kept = use._kept
    assert len(kept) == shown.ROOM.nbytes // (3 * 1024 * 1024 * 2)
    assert sum(item.nbytes for item in kept) <= shown.ROOM.nbytes


def test_bytes_stay_bytes_and_nothing_is_kept_after_the_contest() -> None:
    use = ShownItems(random.Random(1), shown.ROOM)
    use.ran(np.zeros((1, 4, 4, 3), np.uint8), 0.1)
    assert use.items[0].dtype == np.uint8
    use.forget()
    use.ran(np.zeros((1, 4, 4, 3), np.uint8), 0.1)
    assert use.items == []
    assert use.taken_s == 0.2


def test_nothing_is_kept_before_it_is_wanted() -> None:
    use = ShownItems(random.Random(1))
    use.ran(batch(), 0.1)
    assert (use.items, use.taken_s) == ([], 0.1)
    use.keep()
    use.ran(batch(), 0.1)
    assert len(use.items) == 1
    assert shown.ROOM.items == 256
