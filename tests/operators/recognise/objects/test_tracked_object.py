"""When an object is looked at: schedules by hand, and two objects in turn on one track."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames.frame import Box
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.pool import Look
from operators.recognise.objects.tracked_object import TrackedObject
from tests.operators.recognise.objects.looks import box, look

WORDS = 7
FPS = 20
CUT = Box(0.0, 0.3, 0.2, 0.5)
Said = Callable[[float], Look]


class Life:
    """An object that is seen for some time; ``looks`` at (seconds), and what was ``shown`` at each frame."""

    def __init__(
        self,
        says: Said,
        seconds: float,
        where: Callable[[float], Box] = lambda at_s: box(),
        moved: Callable[[float], bool] = lambda at_s: False,
    ) -> None:
        self.known = TrackedObject(where(0.0), 0.0, WORDS)
        self.looks: list[float] = []
        self.shown: list[tuple[float, str]] = []
        for number in range(round(seconds * FPS)):
            at_s = number / FPS
            if self.known.is_due(where(at_s), at_s, moved(at_s)):
                self.known.look(says(at_s), at_s)
                self.looks.append(at_s)
            assert self.known.belief is not None
            self.shown.append((at_s, self.known.belief.said.label))

    @property
    def changes(self) -> list[float]:
        return [at_s for (_, before), (at_s, label) in pairwise(self.shown) if label != before]


def test_a_sure_look_is_checked_at_growing_intervals() -> None:
    life = Life(lambda at_s: look(certainty=0.95), 9)
    assert life.looks == pytest.approx([0, 0.5, 1.5, 3.5, 7.5])
    assert life.known.sure
    assert life.known.conclusive


def test_an_unsure_object_has_three_looks_and_is_then_left_alone() -> None:
    life = Life(lambda at_s: look(certainty=0.4), 6)
    assert life.looks == pytest.approx([0, 0.35, 0.7, 1.2, 2.2, 4.2])
    assert life.known.conclusive
    assert not life.known.sure


def test_looks_wait_for_the_detectors_own_boxes() -> None:
    life = Life(lambda at_s: look(certainty=0.4), 4, moved=lambda at_s: round(at_s * FPS) % 8 != 0)
    assert life.looks == pytest.approx([0, 0.4, 0.8, 1.6, 2.8]), "on frames that are detected"


def test_looks_do_not_wait_long_for_a_detector() -> None:
    life = Life(lambda at_s: look(certainty=0.95), 9, moved=lambda at_s: True)
    wait_s = LOOK_RULE.detected_s
    assert life.looks[0] == 0, "an answer is wanted at once"
    assert life.looks[1:] == pytest.approx([0.5 + wait_s, 1.85 + wait_s, 4.2 + wait_s, 8.55 + wait_s])


def test_the_whole_object_is_waited_for_too() -> None:
    life = Life(
        lambda at_s: look(certainty=0.9), 2, lambda at_s: box() if at_s >= 1.05 else CUT, lambda at_s: at_s < 1.2
    )
    assert life.looks[-2:] == pytest.approx([1.2, 1.7])


def test_checks_are_at_most_a_minute_apart() -> None:
    life = Life(lambda at_s: look(certainty=0.95), 400)
    gaps = [after - before for before, after in pairwise(life.looks)]
    assert max(gaps) == pytest.approx(60)


def test_a_part_is_looked_at_ever_more_rarely_and_the_whole_drops_it() -> None:
    life = Life(lambda at_s: look("car" if at_s >= 3 else "bike", 0.9), 6, lambda at_s: box() if at_s >= 3 else CUT)
    assert life.looks[:4] == pytest.approx([0, 0.35, 1.05, 2.45])
    assert life.looks[4] == pytest.approx(3)
    assert life.changes == [3.0]
    assert life.known.pool is not None
    assert set(life.known.pool.known) == {"car"}


def test_the_first_clear_look_drops_the_parts_though_they_were_many_and_certain() -> None:
    parts = Life(
        lambda at_s: look("bike", 0.99) if at_s < 20 else look("car", 0.5),
        20.1,
        lambda at_s: box() if at_s >= 20 else CUT,
    )
    assert parts.shown[-1][1] == "car"


def test_a_part_is_never_conclusive() -> None:
    assert not Life(lambda at_s: look(certainty=0.99), 5, lambda at_s: CUT).known.conclusive


def test_once_the_whole_was_seen_a_part_is_not_looked_at() -> None:
    life = Life(lambda at_s: look(certainty=0.95), 9, lambda at_s: box() if at_s < 1 else CUT)
    assert life.looks == pytest.approx([0, 0.5])


@pytest.mark.parametrize(
    "jump", [lambda at_s: box(x=0.3 if at_s < 5 else 0.6), lambda at_s: box(w=0.2 if at_s < 5 else 0.1)]
)
@pytest.mark.parametrize("certainty", [0.6, 0.95])
def test_two_objects_in_turn_have_the_new_answer_within_two_seconds(
    jump: Callable[[float], Box], certainty: float
) -> None:
    life = Life(lambda at_s: look("car" if at_s < 5 else "truck", certainty), 9, jump)
    (at_s,) = life.changes
    assert 5 <= at_s <= 7
    assert life.known.pool is not None
    assert set(life.known.pool.known) == {"truck"}


def test_a_box_that_is_small_in_one_frame_only_is_not_looked_at() -> None:
    life = Life(lambda at_s: look(certainty=0.95), 7, lambda at_s: box(w=0.1 if round(at_s * FPS) == 100 else 0.2))
    assert life.looks == pytest.approx([0, 0.5, 1.5, 3.5])


def test_a_box_that_shrinks_slowly_is_looked_at_each_time_it_is_smaller_by_the_factor() -> None:
    life = Life(lambda at_s: look(certainty=0.95), 3.4, lambda at_s: box(w=0.2 * 0.5**at_s))
    assert 2 + 3 <= len(life.looks) <= 3 + 4


@pytest.mark.parametrize("large", [box(w=0.5, h=0.7), Box(0.4, 0.2, 1.0, 0.8)])
def test_a_box_that_has_grown_manifold_holds_another_object(large: Box) -> None:
    def says(at_s: float) -> Look:
        return look("person", 0.95) if at_s < 5 else look("truck", 0.6)

    life = Life(says, 6, lambda at_s: box() if at_s < 5 else large)
    assert life.changes == pytest.approx([5 + 1 / FPS]), "in the second frame, also where the border cuts it off"
    assert life.known.pool is not None
    assert set(life.known.pool.known) == {"truck"}


@pytest.mark.parametrize(("seconds", "side"), [(1 / FPS, 0.6), (2.0, 0.4)])
def test_a_box_that_is_large_in_one_frame_only_or_not_manifold_keeps_its_looks(seconds: float, side: float) -> None:
    """It lies about the same middle: a box that jumps is looked at."""
    large = Box(0.4 - side / 2, 0.4 - side / 2, 0.4 + side / 2, 0.4 + side / 2)
    life = Life(lambda at_s: look(certainty=0.95), 5, lambda at_s: large if 4.01 <= at_s < 4.01 + seconds else box())
    assert life.looks == pytest.approx([0, 0.5, 1.5, 3.5])
    assert life.known.pool is not None
    assert life.known.pool.looks == 4


def test_two_objects_that_nothing_tells_apart_have_the_new_answer_with_the_next_check() -> None:
    life = Life(lambda at_s: look("car" if at_s < 5 else "truck", 0.9), 12)
    (at_s,) = life.changes
    assert at_s <= 7.5 + 2 * LOOK_RULE.doubt_every_s + 0.1


@pytest.mark.parametrize("odd", [1, 2])
def test_looks_that_contradict_once_or_twice_do_not_change_the_answer(odd: int) -> None:
    seen: list[float] = []

    def says(at_s: float) -> Look:
        seen.append(at_s)
        return look("truck", 0.6) if 3 < len(seen) <= 3 + odd else look("car", 0.95)

    assert Life(says, 9).changes == []


def test_unsure_looks_contradict_nothing() -> None:
    life = Life(lambda at_s: look("car", 0.95) if at_s < 2 else look("truck", 0.3), 9)
    assert life.changes == []
    assert len(life.looks) == 5


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=60),
    st.lists(st.tuples(st.floats(0, 0.7), st.floats(0, 0.7), st.floats(0.05, 0.3)), min_size=1, max_size=40),
)
def test_looks_are_bounded_whatever_they_say_and_wherever_the_box_is(
    said: Sequence[tuple[str, float]], places: Sequence[tuple[float, float, float]]
) -> None:
    """At most one each .2 s, but for the first look at the whole; and there is an answer from the first frame on."""
    words, boxes = cycle(said), [box(x, y, w, w) for x, y, w in places]
    life = Life(lambda at_s: look(*next(words)), 8, lambda at_s: boxes[round(at_s * FPS) % len(boxes)])
    assert len(life.looks) <= 8 / LOOK_RULE.doubt_every_s + 2
    assert life.known.pool is not None
    assert 1 <= life.known.pool.looks <= len(life.looks)
