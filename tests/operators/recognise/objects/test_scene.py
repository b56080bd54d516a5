"""When a scene is looked at, what its looks say together, and that odd media times do no harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from operators.recognise.objects.look_rule import LOOK_RULE, SCENE_RULE
from operators.recognise.objects.pool import ObjectAnswer
from operators.recognise.objects.scene import MOST_LOOKS, Scene
from serving.common.tensors import Image
from tests.operators.recognise.objects.looks import box, look

FPS = 5


def yard(seed: int = 0, brightness: int = 0) -> Image:
    """A picture with edges in every cell."""
    drawn = np.random.default_rng(seed).integers(0, 2, (18, 32)) * 90 + 60
    return (drawn.repeat(8, 0).repeat(8, 1) + brightness).astype(np.uint8)


def moving(at: int) -> Image:
    """The same with something small in another place in every frame."""
    picture = yard()
    picture[20:40, 10 * (at % 20) : 10 * (at % 20) + 20] = 255
    return picture


class Watched:
    """A scene that is shown frames and looked at as it wants."""

    def __init__(self) -> None:
        self.scene = Scene(7)
        self.looked: list[int] = []
        """The frames that were looked at."""
        self.concluded: list[ObjectAnswer] = []
        self.said: list[str] = []
        self._frames = 0

    def shows(
        self,
        pictures: Sequence[Image],
        word: Callable[[int], str] = lambda number: "day",
        times_s: Sequence[float] | None = None,
    ) -> None:
        """Further frames; ``word``: what a look at each would say; ``times_s``: else they follow each other."""
        for place, picture in enumerate(pictures):
            number, scene = self._frames, self.scene
            self._frames += 1
            at_s = number / FPS if times_s is None else times_s[place]
            if scene.asks(at_s):
                scene.see(picture)
            self.concluded, scene.gone = self.concluded + scene.gone, []
            if scene.is_due(scene.number, box()):
                self.looked.append(number)
                found = scene.look(scene.number, look(word(number)))
                self.concluded += [found] if found else []
            assert scene.belief is not None
            self.said.append(scene.belief.said.label)


def test_a_scene_in_which_something_moves_is_looked_at_once_a_second() -> None:
    watched = Watched()
    watched.shows([moving(at) for at in range(60)])
    assert watched.looked == list(range(0, 60, FPS))


@pytest.mark.parametrize("fps", [0.2, 1, 3, 7, 12, 25])
def test_however_many_frames_come_it_is_no_more_than_a_look_a_second(fps: float) -> None:
    watched, frames = Watched(), round(40 * fps)
    watched.shows([moving(at) for at in range(frames)], times_s=[at / fps for at in range(frames)])
    assert min(frames, 36) <= len(watched.looked) <= 41


def test_frames_that_come_irregularly_do_not_make_looks_rarer() -> None:
    """As where 5 of 12.5 frames a second are sampled: the next look is due a second after the last was due."""
    watched = Watched()
    times_s = [np.ceil(12.5 * at / FPS) / 12.5 for at in range(200)]
    watched.shows([moving(at) for at in range(200)], times_s=times_s)
    assert 39 <= len(watched.looked) <= 41


def test_the_answer_is_that_of_the_looks_of_three_seconds() -> None:
    watched = Watched()
    words = {0: "day", 5: "dusk", 10: "dusk", 15: "day", 20: "day"}
    watched.shows([moving(at) for at in range(25)], lambda number: words[number])
    assert [watched.said[at] for at in words] == ["day", "day", "dusk", "dusk", "day"]
    assert watched.scene.pool is not None
    assert watched.scene.pool.looks == 3


def test_a_picture_that_stands_still_is_looked_at_more_seldom_and_at_once_where_it_does_no_more() -> None:
    watched = Watched()
    watched.shows([yard()] * 100)
    still = round(SCENE_RULE.still_s * FPS)
    assert watched.looked == [0, 5, 10, *range(10 + still, 100, still)]
    assert watched.scene.pool is not None
    assert watched.scene.pool.looks == 3  # the picture has not grown old
    before = len(watched.looked)
    watched.shows([moving(at) for at in range(10)])
    assert len(watched.looked) == before + 2


@pytest.mark.parametrize("other", [yard(1), yard(brightness=60), yard()[:90]], ids=["cut", "light", "size"])
def test_another_picture_is_looked_at_at_once_and_has_the_answer_alone(other: Image) -> None:
    watched = Watched()
    watched.shows([moving(at) for at in range(13)])
    watched.shows([other] * 4, lambda number: "night")
    assert watched.looked == [0, 5, 10, 13]
    assert watched.said[12:] == ["day", *["night"] * 4]


def test_pictures_that_all_differ_are_looked_at_little_more_often_than_a_scene() -> None:
    watched = Watched()
    watched.shows([yard(at) for at in range(300)])
    assert 60 <= len(watched.looked) <= 60 * (1 + 1 / SCENE_RULE.window_s)


def test_three_looks_are_a_conclusion_and_the_next_begins_another() -> None:
    watched = Watched()
    watched.shows([moving(at) for at in range(40)])
    assert [(each.track_id, each.looks, each.belief.said.label) for each in watched.concluded] == [
        (0, 3, "day"),
        (1, 3, "day"),
    ]
    assert all(each.looked == {"oracle": 3} for each in watched.concluded)
    assert watched.scene.number == 2
    (last,) = watched.scene.close()
    assert (last.track_id, last.looks) == (2, 3)  # its second look, pooled with one before
    assert watched.scene.close() == []


def test_a_cut_concludes_what_was_known_before() -> None:
    watched = Watched()
    watched.shows([moving(at) for at in range(8)])
    watched.shows([yard(1)] * 2)
    assert [(each.track_id, each.looks) for each in watched.concluded] == [(0, 2)]
    assert watched.scene.number == 1


def test_a_look_that_fails_is_due_until_it_is_made() -> None:
    scene = Scene(7)
    for at in range(3):
        assert scene.asks(at / FPS)
        scene.see(yard())
        assert scene.is_due(0, box())
    scene.look(0, look())
    assert not scene.is_due(0, box())


def test_a_look_may_wait_where_the_scene_is_known_and_not_for_ever() -> None:
    watched = Watched()
    assert not watched.scene.can_wait(0)
    watched.shows([yard()])
    assert watched.scene.can_wait(0)
    watched.scene.asks(2.0)
    assert watched.scene.can_wait(0)
    watched.scene.asks(SCENE_RULE.look_every_s + LOOK_RULE.postponed_s)
    assert not watched.scene.can_wait(0)


def test_after_a_gap_nothing_is_known_of_the_scene() -> None:
    watched = Watched()
    watched.shows([yard()] * 3, times_s=[0.0, 0.2, 0.4])
    watched.shows([yard()], lambda number: "night", times_s=[0.4 + SCENE_RULE.window_s])
    assert watched.said == ["day", "day", "day", "night"]


@pytest.mark.parametrize(
    "times_s",
    [[0.0] * 1000, [-(at / FPS) for at in range(1000)], [1e8 * (-1) ** at for at in range(1000)]],
    ids=["standing still", "going back", "jumping"],
)
def test_odd_media_times_neither_stop_the_looks_nor_fill_the_memory(times_s: list[float]) -> None:
    watched = Watched()
    watched.shows([moving(at) for at in range(1000)], times_s=times_s)
    assert 3 <= len(watched.looked) <= 500
    assert watched.looked[-1] >= 1000 - SCENE_RULE.most_frames
    assert watched.scene.pool is not None
    assert watched.scene.pool.looks <= MOST_LOOKS


def test_one_odd_time_changes_nothing_for_long() -> None:
    watched = Watched()
    times_s = [at / FPS for at in range(60)]
    times_s[20] = -1e6
    watched.shows([moving(at) for at in range(60)], times_s=times_s)
    assert 11 <= len(watched.looked) <= 14
