from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from operators.recognise.audits.moments import TrialMoments
from operators.recognise.objects.look_rule import LOOK_RULE

GAP = LOOK_RULE.look_every_s


def taken(chances: list[float], frames: list[tuple[float, bool]]) -> list[float]:
    moments = TrialMoments(chances)
    return [at_s for at_s, whole in frames if moments.come(at_s, whole)]


def at(fps: int, seconds: float = 10.0) -> list[tuple[float, bool]]:
    return [(frame / fps, True) for frame in range(round(seconds * fps))]


def test_they_follow_each_other_by_chance() -> None:
    assert taken([0.5, 0.0, 0.5, 1.0], at(100)) == [0.18, 0.36, 0.71, 1.24]


@given(st.lists(st.floats(0, 0.999), min_size=4, max_size=4), st.integers(1, 60))
def test_all_come_and_none_too_soon_after_another(chances: list[float], fps: int) -> None:
    times = taken(chances, at(fps, 30))
    assert len(times) == 4
    assert 0 <= times[0] <= GAP + 1 / fps
    for one, following in pairwise(times):
        assert 0.5 * GAP - 1e-9 <= following - one <= 1.5 * GAP + 1 / fps + 1e-9


def test_a_part_of_an_object_is_not_looked_at_and_does_not_begin_the_time() -> None:
    assert taken([0.0], [(0.0, False), (5.0, False), (6.0, True)]) == [6.0]


def test_what_is_hidden_when_its_moment_comes_is_looked_at_later() -> None:
    assert taken([0.0, 0.0], [(0.0, True), (0.2, False), (0.5, True)]) == [0.0, 0.5]


def test_they_are_used_up() -> None:
    moments = TrialMoments([0.0])
    assert not moments.used_up
    assert moments.come(0.0, True)
    assert moments.used_up
    assert not moments.come(9.0, True)
