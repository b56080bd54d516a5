"""What is drawn, and where."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.annotate.drawing import AMBER, GREY, RED, caption, colour_of, draw
from operators.wire.schema import BoundingBox, Detection, Plan
from tests.operators.publish.messages import picture, result, thing


def test_a_caption_tells_name_track_answers_and_provenance() -> None:
    assert caption(thing(12003, "car", "pickup")) == ["car 80% #12003", "type: pickup 90% oracle"]
    assert caption(thing()) == ["car 80%"]


def test_colours_belong_to_labels() -> None:
    assert colour_of("car") == colour_of("car") == (65, 255, 84)  # stable over processes: no seeded hash
    assert colour_of("car") != colour_of("person")
    assert colour_of("moving") == GREY


def test_the_picture_itself_is_left_alone() -> None:
    frame = picture(result(), 640, 360)
    drawn = draw(frame.image, result(0, thing(1)))
    assert (frame.image == 90).all()
    assert not np.array_equal(drawn, frame.image)


@pytest.mark.parametrize(("width", "height"), [(640, 360), (1920, 1080)])
def test_a_box_is_drawn_in_its_label_s_colour_where_it_is(width: int, height: int) -> None:
    drawn = draw(picture(result(), width, height).image, result(0, thing(label="car")))
    middle = drawn[round(height * 0.6), :, :].astype(int)
    near = np.abs(middle - colour_of("car")).max(axis=1) < 30
    columns = np.flatnonzero(near) / width
    assert columns.min() == pytest.approx(0.25, abs=0.01)
    assert columns.max() == pytest.approx(0.5, abs=0.01)


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


def test_captions_do_not_cover_each_other() -> None:
    one, two = thing(1, "car"), thing(2, "person")
    image = picture(result(), 640, 360).image
    alone, both = draw(image, result(0, one)), draw(image, result(0, one, two))
    top, bottom = round(360 * 0.25), round(360 * 0.75)
    assert np.array_equal(both[: top - 1], alone[: top - 1])
    assert (both[bottom + 1 :] == colour_of("person")).all(axis=2).any()


unit = st.floats(-0.5, 1.5, allow_nan=False)


@given(unit, unit, unit, unit, st.integers(1, 200), st.integers(1, 200), st.text(max_size=30))
def test_anything_can_be_drawn(x: float, y: float, x2: float, y2: float, width: int, height: int, label: str) -> None:
    box = BoundingBox(x_min=x, y_min=y, x_max=x2, y_max=y2)
    found = thing(1, label, detection=Detection(bounding_box=box, confidence=1, label=label))
    drawn = draw(picture(result(), width, height).image, result(0, found, found))
    assert drawn.shape == (height, width, 3)
