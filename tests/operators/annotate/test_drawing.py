"""What is drawn, and where."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.annotate.drawing import AMBER, RED, draw
from operators.annotate.style import GREY, Style, banners, captions, colour_of, free_place, legend, overlap
from operators.frames.mask import Mask
from operators.wire.schema import BoundingBox, Detection, Object, Plan
from tests.operators.publish.messages import attribute, picture, result, thing


def test_a_label_is_the_last_answer_that_says_something_and_becomes_shorter() -> None:
    assert captions(thing(12003, "car", "pickup")) == ["pickup 90", "pickup", "90"]
    assert captions(thing(12003, "car", "pickup", "unknown")) == ["pickup 90", "pickup", "90"]
    assert captions(thing(12003, "car", "other")) == ["car 80", "car", "80"]
    assert captions(thing()) == ["car 80", "car", "80"]
    assert captions(thing(1, "street " * 9))[1] == "street street street s.."


@pytest.mark.parametrize(
    ("word", "drawn"),
    [
        ("Fußgänger", "Fussganger"),
        ("xe máy trên đường", "xe may tren duong"),
        ("行人", "XingRen"),
        ("пешеход", "peshekhod"),
        ("\ue000", "?"),
        ("Straße " * 9, "Strasse Strasse Strass.."),
    ],
)
def test_words_are_spelt_in_letters_that_the_font_has(word: str, drawn: str) -> None:
    assert captions(thing(1, word))[1] == drawn
    assert legend([thing(1, word)]) == [(f"{drawn} 1", colour_of(word))]


def test_the_banner_becomes_shorter() -> None:
    assert banners(result(7)) == ["yard  7  0:00.7  34 ms", "0:00.7  34 ms", "0:00.7  34 ms", "0:00.7"]
    late = result(7, outcome="dropped", cause="queue_full")
    assert banners(late)[0] == "yard  7  0:00.7  dropped: queue_full"
    assert banners(late)[2] == "0:00.7  dropped"


def test_the_legend_says_what_colours_mean_the_most_frequent_first() -> None:
    found = [thing(1, "car"), thing(2, "person"), thing(3, "car")]
    assert legend(found) == [("car 2", colour_of("car")), ("person 1", colour_of("person"))]


def test_colours_belong_to_labels() -> None:
    assert colour_of("car") == colour_of("car") == (65, 255, 84)  # stable over processes: no seeded hash
    assert colour_of("car") != colour_of("person")
    assert colour_of("moving") == GREY


def test_the_picture_itself_is_left_alone() -> None:
    frame = picture(result(), 640, 360)
    drawn = draw(frame.image, result(0, thing(1)))
    assert (frame.image == 90).all()
    assert not np.array_equal(drawn, frame.image)


@pytest.mark.parametrize(("width", "height"), [(320, 180), (640, 360), (1920, 1080)])
def test_a_box_is_drawn_thin_in_its_label_s_colour_where_it_is(width: int, height: int) -> None:
    drawn = draw(picture(result(), width, height).image, result(0, thing(label="car")))
    middle = drawn[round(height * 0.6), :, :].astype(int)
    near = np.abs(middle - colour_of("car")).max(axis=1) < 30
    columns = np.flatnonzero(near) / width
    assert columns.min() == pytest.approx(0.25, abs=0.01)
    assert columns.max() == pytest.approx(0.5, abs=0.01)
    assert near.sum() <= 2 * 3


@pytest.mark.parametrize(
    ("changes", "colour"),
    [
        ({"outcome": "failed", "cause": "type: boom"}, RED),
        ({"plan": Plan(slo_ms=250, deadline_met=False, latency_ms=300)}, AMBER),
    ],
)
def test_the_banner_shows_how_the_frame_fared(changes: dict[str, object], colour: tuple[int, int, int]) -> None:
    drawn = draw(picture(result(), 640, 360).image, result(0, **changes))
    assert tuple(int(channel) for channel in drawn[0, 0]) == colour


def test_an_object_that_is_the_whole_frame_has_a_label_and_no_box() -> None:
    everything = BoundingBox(x_min=0, y_min=0, x_max=1, y_max=1)
    scene = thing(None, "car", detection=Detection(bounding_box=everything, confidence=1, label="frame"))
    drawn = draw(picture(result(), 640, 360).image, result(0, scene))
    assert not (drawn[100:300, [0, -1]] == colour_of("car")).all(axis=2).any()
    assert (drawn[:60] == colour_of("car")).all(axis=2).any()


def test_masks_are_darker_where_nothing_counts() -> None:
    left = ((0.0, 0.2), (0.5, 0.2), (0.5, 1.0), (0.0, 1.0))
    image = picture(result(), 200, 100).image
    ignored = draw(image, result(0), [Mask(left, "ignore")])
    required = draw(image, result(0), [Mask(left, "require")])
    assert (ignored[60, 40] == 54).all()
    assert (ignored[60, 160] == 90).all()
    assert (required[60, 40] == 90).all()
    assert (required[60, 160] == 54).all()


def crowd(number: int) -> list[Object]:
    rng = np.random.default_rng(number)
    labels = ("car", "person", "bicycle", "traffic light")
    boxes = [(*rng.uniform(0, 0.8, 2), *rng.uniform(0.05, 0.2, 2)) for _ in range(number)]
    return [
        thing(
            place,
            labels[place % 4],
            detection=Detection(
                bounding_box=BoundingBox(x_min=x, y_min=y, x_max=x + w, y_max=y + h), confidence=0.5, label="car"
            ),
            attributes=[attribute("pickup")] if place % 3 == 0 else [],
        )
        for place, (x, y, w, h) in enumerate(boxes)
    ]


@pytest.mark.parametrize("number", [1, 6, 30])
@pytest.mark.parametrize("width", [320, 640, 1920])
def test_labels_cover_little_of_the_picture_and_never_each_other(
    width: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, tuple[int, int, int, int]]] = []
    write = Style.write

    def noted(self: Style, canvas: np.ndarray, text: str, place: tuple[int, int, int, int], ground: object) -> None:
        written.append((text, place))
        write(self, canvas, text, place, ground)  # type: ignore[arg-type]

    monkeypatch.setattr(Style, "write", noted)
    height = width * 9 // 16
    draw(picture(result(), width, height).image, result(0, *crowd(number)))
    places = [place for _, place in written]
    assert not any(overlap(a, b) for n, a in enumerate(places) for b in places[:n])
    assert all(0 <= left < right <= width and 0 <= top < bottom <= height for left, top, right, bottom in places)
    labels = written[1 + len(legend(crowd(number))) :] if width > 320 else written[1:]
    covered = sum((right - left) * (bottom - top) for _, (left, top, right, bottom) in labels)
    assert covered < 0.25 * width * height
    assert len(labels) >= 0.8 * number


def test_text_can_be_read_at_320_pixels_and_grows_with_the_picture() -> None:
    heights = [Style.of(np.zeros((width * 9 // 16, width, 3), np.uint8)).row for width in (320, 640, 1920, 3840)]
    assert heights[0] >= 9
    assert heights == sorted(heights)
    capital = cv2.getTextSize("A", cv2.FONT_HERSHEY_SIMPLEX, Style.of(np.zeros((180, 320, 3), np.uint8)).scale, 1)[0]
    assert capital[1] >= 7


def test_a_place_is_above_else_below_else_inside() -> None:
    box, size, picture_size = (50, 40, 90, 80), (30, 10), (200, 100)
    above, below, inside = (50, 30, 80, 40), (50, 80, 80, 90), (50, 40, 80, 50)
    assert free_place(box, size, [], picture_size) == above
    assert free_place(box, size, [above], picture_size) == below
    sides = [(60, 30, 90, 40), (60, 80, 90, 90)]
    assert free_place(box, size, [above, below, *sides], picture_size) == inside
    assert free_place(box, size, [(0, 0, 200, 100)], picture_size) is None
    assert free_place(box, (300, 10), [], picture_size) is None
    assert free_place((190, 40, 200, 80), size, [], picture_size) == (170, 30, 200, 40)


unit = st.floats(-0.5, 1.5, allow_nan=False)


@given(unit, unit, unit, unit, st.integers(1, 200), st.integers(1, 200), st.text(max_size=30))
def test_anything_can_be_drawn(x: float, y: float, x2: float, y2: float, width: int, height: int, label: str) -> None:
    box = BoundingBox(x_min=x, y_min=y, x_max=x2, y_max=y2)
    found = thing(1, label, detection=Detection(bounding_box=box, confidence=1, label=label))
    drawn = draw(picture(result(), width, height).image, result(0, found, found))
    assert drawn.shape == (height, width, 3)


def test_frames_that_wait_for_the_analysis_are_not_shown_as_late() -> None:
    image, late = picture(result(), 640, 360).image, Plan(slo_ms=250, deadline_met=False, latency_ms=400)
    hurried, unhurried = (draw(image, result(0, plan=late), hurried=each) for each in (True, False))
    assert (hurried == AMBER).all(2).any()
    assert not (unhurried == AMBER).all(2).any()
