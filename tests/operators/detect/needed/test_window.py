"""What a window makes of pixels and of what a detector finds on some of its frames."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from operators.detect.needed.carried import identify
from operators.detect.needed.window import FrameWindow, KnownFrame
from operators.frames.changes import COLUMNS, ROWS, thumbnail
from operators.frames.frame import Region
from operators.testing.builders import make_region
from operators.track.tracker import KalmanTracker, TrackSettings
from serving.common.tensors import Image

HEIGHT, WIDTH, SIDE = 144, 256, 32
BACKGROUND = cv2.GaussianBlur(np.random.default_rng(1).integers(60, 120, (HEIGHT, WIDTH, 3), np.uint8), (0, 0), 1.5)
PATCH = cv2.GaussianBlur(np.random.default_rng(2).integers(150, 255, (SIDE, SIDE, 3), np.uint8), (0, 0), 1.5)
Truth = Callable[[int], float | None]
"""Where the object's left side is, by frame."""


def picture(x: float | None) -> Image:
    image = BACKGROUND.copy()
    if x is not None:
        image[50 : 50 + SIDE, int(x) : int(x) + SIDE] = PATCH
    return image


def objects(x: float | None, label: str = "car", confidence: float = 0.9) -> list[Region]:
    if x is None:
        return []
    box = {"x": x / WIDTH, "y": 50 / HEIGHT, "w": SIDE / WIDTH, "h": SIDE / HEIGHT}
    return [make_region(**box, label=label, confidence=confidence)]


def known_of(image: Image, regions: list[Region], resting: bool = False) -> KnownFrame:
    """The frame before a window, on which the detector has just run for the first time."""
    tracker = KalmanTracker(TrackSettings())
    identify(regions, tracker, 0.0)
    return KnownFrame(thumbnail(image), regions, 0.0, tracker, np.full((ROWS, COLUMNS), resting))


def played(truth: Truth, seen: Truth | None = None, frames: int = 12, label: Callable[[int], str] = lambda at: "car"):
    """The plan of a window and the frames that were detected; ``seen``: what the detector sees of the truth."""
    seen = seen or truth
    known = known_of(picture(truth(0)), objects(seen(0), label(0)))
    images = [picture(truth(at)) for at in range(1, frames + 1)]
    window, detected = FrameWindow(known, images, [at / 24 for at in range(frames + 1)], 3, 0.45), []
    while (at := window.wanted) is not None:
        detected.append(at)
        window.found(objects(seen(at), label(at)))
    assert [each.detected for each in window.planned] == [at in detected for at in range(1, frames + 1)]
    return window, detected


def test_an_object_on_its_way_is_filled_from_both_ends() -> None:
    window, detected = played(lambda at: 40 + 1.2 * at)
    assert detected == [12]
    for at, plan in enumerate(window.planned, 1):
        (region,) = plan.regions
        assert region.box.x_min == pytest.approx((40 + 1.2 * at) / WIDTH, abs=0.004)
    middle = window.planned[5].regions[0]
    assert middle.age_s == pytest.approx(6 / 24)
    assert middle.confidence < 0.9
    assert window.planned[11].regions[0].age_s is None
    assert len({id(plan.regions[0]) for plan in window.planned}) == 12


def test_an_object_too_fast_to_overlap_is_followed() -> None:
    window, detected = played(lambda at: 20 + 5 * at)
    assert detected == [12]
    assert len({plan.regions[0].identity for plan in window.planned}) == 1
    for at, plan in enumerate(window.planned, 1):
        assert plan.regions[0].box.x_min == pytest.approx((20 + 5 * at) / WIDTH, abs=0.004)


def test_two_that_pass_each_other_keep_who_they_are() -> None:
    """By place each would be taken for the other: they have changed places when the window ends."""

    def pair(at: int) -> list[Region]:
        return [*objects(60 + 2 * at), *objects(108 - 2 * at)]

    tracker, earlier = KalmanTracker(TrackSettings()), [-12, -6, 0]
    for at in earlier:
        identify(regions := pair(at), tracker, 6 / 24)
    known = KnownFrame(thumbnail(BACKGROUND), regions, 0.0, tracker, np.zeros((ROWS, COLUMNS), bool))
    window = FrameWindow(known, [BACKGROUND] * 12, [at / 24 for at in range(13)], 3, 0.45)
    while (at := window.wanted) is not None:
        window.found(pair(at))
    for at, plan in enumerate(window.planned, 1):
        places = {region.identity: region.box.x_min * WIDTH for region in plan.regions}
        assert places == pytest.approx({regions[0].identity: 60 + 2 * at, regions[1].identity: 108 - 2 * at}, abs=0.5)


def test_a_number_of_a_window_that_was_divided_is_given_to_one_object_alone() -> None:
    """The end is looked at before the middle, and numbers are given in the order of time."""

    def shown(at: int) -> list[Region]:
        return [*objects(20), *(objects(100) if 4 <= at <= 8 else []), *(objects(180) if at >= 9 else [])]

    window = FrameWindow(known_of(BACKGROUND, shown(0)), [BACKGROUND] * 12, [at / 24 for at in range(13)], 3, 0.45)
    while (at := window.wanted) is not None:
        window.found(shown(at))
    places: dict[int | None, set[int]] = {}
    for plan in window.planned:
        for region in plan.regions:
            places.setdefault(region.identity, set()).add(round(region.box.x_min * WIDTH))
    assert sorted(map(sorted, places.values())) == [[20], [100], [180]]


def window_of_two(before: list[Region], after: list[Region]) -> FrameWindow:
    """Half a second, in which nothing but objects is looked at."""
    known = known_of(BACKGROUND, before)
    window = FrameWindow(known, [BACKGROUND] * 12, [at / 24 for at in range(13)], 3, 0.45)
    window.found(after)
    return window


def test_an_object_in_reach_goes_straight_where_it_has_no_other_choice() -> None:
    window = window_of_two(objects(40), objects(88))
    assert window.wanted is None
    assert [plan.regions[0].box.x_min for plan in window.planned] == pytest.approx(
        [(40 + 4 * at) / WIDTH for at in range(1, 13)]
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (objects(40), [*objects(88), *objects(90)]),
        ([*objects(40), *objects(130)], objects(88)),
        (objects(40), objects(88, label="truck")),
        (objects(40), objects(40 + 2.1 * SIDE)),
    ],
    ids=["two new ones", "two gone ones", "another label", "out of reach"],
)
def test_where_there_is_a_choice_the_middle_is_asked(before: list[Region], after: list[Region]) -> None:
    assert window_of_two(before, after).wanted == 6


def test_an_object_that_appears_is_searched_for() -> None:
    window, detected = played(lambda at: 100 if at >= 8 else None)
    assert detected == [12, 6, 9]
    assert [len(plan.regions) for plan in window.planned[:6]] == [0] * 6
    assert [len(plan.regions) for plan in window.planned[8:]] == [1] * 4


def test_labels_are_not_mixed() -> None:
    window, detected = played(lambda at: 100, label=lambda at: "car" if at < 7 else "truck")
    assert len(detected) > 1
    labels = [plan.regions[0].label for plan in window.planned]
    assert labels[:5] == ["car"] * 5
    assert labels[-4:] == ["truck"] * 4
    assert set(labels) == {"car", "truck"}


def test_what_is_unsure_and_comes_and_goes_is_not_searched_for() -> None:
    known = known_of(picture(None), objects(90, confidence=0.4))
    window = FrameWindow(known, [picture(None)] * 12, [at / 24 for at in range(13)], 3, 0.45)
    window.found([])
    assert window.wanted is None
    counts = [len(plan.regions) for plan in window.planned]
    assert counts == [1] * 5 + [0] * 7


def test_movement_outside_of_the_boxes_asks_for_the_middle() -> None:
    window, detected = played(lambda at: 200 if 4 <= at <= 8 else None)
    assert detected[:2] == [12, 6]
    assert len(window.planned[5].regions) == 1


def test_movement_that_the_detector_has_no_word_for_is_not_asked_about_again() -> None:
    window, detected = played(lambda at: 40 + 8 * at, seen=lambda at: None)
    assert 12 in detected
    assert window.news.any()
    resting = known_of(picture(40), [], resting=True)
    again = FrameWindow(resting, [picture(40 + 8 * at) for at in range(1, 13)], [at / 24 for at in range(13)], 3, 0.45)
    again.found([])
    assert again.wanted is None


def test_a_cut_is_found_to_the_frame() -> None:
    blocks = np.random.default_rng(5).integers(0, 2, (9, 16), np.uint8) * 250
    other = cv2.cvtColor(np.kron(blocks, np.ones((16, 16), np.uint8)), cv2.COLOR_GRAY2BGR)
    known = known_of(BACKGROUND, objects(100))
    images = [BACKGROUND] * 4 + [other] * 8
    window, detected = FrameWindow(known, images, [at / 24 for at in range(13)], 3, 0.45), []
    while (at := window.wanted) is not None:
        detected.append(at)
        window.found(objects(100) if at <= 4 else [])
    assert {4, 5} <= set(detected)
    assert [len(plan.regions) for plan in window.planned] == [1] * 4 + [0] * 8


def test_a_box_that_leaves_the_frame_is_clipped() -> None:
    known = known_of(picture(0), objects(-10))
    window = FrameWindow(known, [picture(0)] * 4, [at / 24 for at in range(5)], 3, 0.45)
    window.found(objects(-14))
    assert all(0 <= plan.regions[0].box.x_min < plan.regions[0].box.x_max for plan in window.planned[:3])


def test_landmarks_go_with_their_box() -> None:
    first, last = objects(50), objects(54)
    for (face,) in (first, last):
        x = face.box.x_min
        face.landmarks = ((x, 60 / HEIGHT), (x + 10 / WIDTH, 60 / HEIGHT))
    known = known_of(picture(50), first)
    window = FrameWindow(known, [picture(50 + at) for at in range(1, 5)], [at / 24 for at in range(5)], 3, 0.45)
    window.found(last)
    (region,) = window.planned[1].regions
    assert region.landmarks is not None
    assert [x for x, _ in region.landmarks] == pytest.approx([52 / WIDTH, 62 / WIDTH])


def test_frames_of_one_time_are_filled_as_well() -> None:
    known = known_of(picture(50), objects(50))
    window = FrameWindow(known, [picture(50)] * 3, [0.0] * 4, 3, 0.45)
    window.found(objects(50))
    assert [len(plan.regions) for plan in window.planned] == [1] * 3
