from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.capture.sources.stamp_order import StampOrder

groups = st.lists(st.integers(1, 8), min_size=1, max_size=40)
"""How many frames each group has: its last one is stored first, for the others are made from it."""


def storage(sizes: Sequence[int]) -> list[int]:
    """Frames, by their place in the order of showing, in the order of storage."""
    stored = [0]
    for size in sizes:
        first = len(stored)
        stored += [first + size - 1, *range(first, first + size - 1)]
    return stored


def decode(
    order: StampOrder, stored: list[int], stamps: list[float], held: int, lost: Sequence[int] = ()
) -> list[float]:
    """The stamps of the frames shown, by a decoder that holds back ``held`` packets; those ``lost`` yield no frame."""
    given_to: list[float] = []
    waiting: list[int] = []
    for place, frame in enumerate(stored):
        order.fed(stamps[place])
        if place not in lost:
            waiting.append(frame)
        if place >= held and waiting:
            _show(order, stored, stamps, waiting, given_to)
    while waiting:
        _show(order, stored, stamps, waiting, given_to)
    return given_to


def _show(order: StampOrder, stored: list[int], stamps: list[float], waiting: list[int], given_to: list[float]) -> None:
    frame = min(waiting)
    waiting.remove(frame)
    place = stored.index(frame)
    key = place % 5 == 0 and max(stored[: place + 1]) == frame  # what others are shown before is made from none
    given_to.append(order.shown(stamps[place], key=key))


@given(groups, st.integers(8, 20))
@example([8] * 20, 8)
def test_stamps_in_the_order_of_packets_are_put_right_from_the_first_frame_on(sizes: list[int], held: int) -> None:
    stored = storage(sizes)
    stamps = [float(place) for place in range(len(stored))]
    assert decode(StampOrder(), stored, stamps, held) == stamps


@given(groups, st.integers(8, 20), st.sets(st.integers(0, 300)))
def test_right_stamps_stay_as_they_are(sizes: list[int], held: int, lost: set[int]) -> None:
    stored = storage([8, *sizes])
    stamps = [frame / 10 for frame in stored]
    # what is lost while nothing is known of the container may cost a frame's time, up to the next key frame
    gone = [place for place in lost if place > 40 and place < len(stored)]
    shown = decode(StampOrder(), stored, stamps, held, gone)
    assert shown == sorted(stamps[place] for place in range(len(stored)) if place not in gone)


@pytest.mark.parametrize("lost", [[20], [20, 21, 22], [30, 47], range(20, 36)])
def test_lost_packets_move_later_frames_to_the_next_key_frame_only(lost: Sequence[int]) -> None:
    stored = storage([4] * 60)
    stamps = [float(place) for place in range(len(stored))]
    shown = decode(StampOrder(), stored, stamps, 8, lost)
    frames = [place for place in range(len(stored)) if stored.index(place) not in lost]
    errors = [abs(stamp - frame) for stamp, frame in zip(shown, frames, strict=True)]
    assert max(errors) <= len(lost) + 1
    assert max(error for error, frame in zip(errors, frames, strict=True) if frame >= 80) == 0


def test_packets_before_the_first_frame_do_not_count() -> None:
    order = StampOrder()
    for place in range(30):
        order.fed(float(place))  # a camera that is taken up in the middle of a group
    assert order.shown(25.0) == 25.0
    assert order.shown(26.0) == 26.0


def test_frames_are_in_order_where_the_decoder_passes_over_packets() -> None:
    order = StampOrder(sorts=False)
    shown = []
    for place in range(100):
        order.fed(float(place))
        if place % 10 == 0:
            shown.append(order.shown(float(place)))
    assert shown == [float(place) for place in range(0, 100, 10)]


@given(st.lists(st.one_of(st.floats(-1e9, 1e9), st.floats(0, 10)), max_size=300), st.randoms(use_true_random=False))
def test_whatever_comes_memory_is_bounded(stamps: list[float], rng: object) -> None:
    order = StampOrder()
    for stamp in stamps:
        getattr(order, rng.choice(["fed", "shown"]))(stamp)  # type: ignore[attr-defined]
    assert len(order._held) + len(order._lent) <= 64
    assert len(order._owed) == len(order._lent)
