"""The pure parts: what has changed, where it went, how far answers agree."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from operators.detect.needed.carried import LEAST_INSIDE, aged, centred, covered_cells, shifted
from operators.detect.needed.flow import flow, middle, moved
from operators.detect.needed.matching import agreement, same_counts
from operators.frames.changes import COLUMNS, ROWS, WIDTH, changed_cells, thumbnail
from operators.frames.frame import Box, Region
from serving.common.tensors import Image

HEIGHT = 144


def texture(seed: int, height: int = HEIGHT, width: int = WIDTH) -> Image:
    noise = np.random.default_rng(seed).integers(40, 216, (height, width), np.uint8)
    blurred: Image = cv2.GaussianBlur(noise, (0, 0), 2)
    return cv2.normalize(blurred, None, 30, 220, cv2.NORM_MINMAX).astype(np.uint8)


def scene(left: int, top: int, size: int = 40) -> Image:
    """A patch in front of a still background."""
    picture = texture(1)
    picture[top : top + size, left : left + size] = texture(2, size, size)
    return picture


def box_of(left: int, top: int, size: int = 40) -> NDArray[np.float64]:
    return np.array([left / WIDTH, top / HEIGHT, (left + size) / WIDTH, (top + size) / HEIGHT])


def region(x: float, label: str = "car", confidence: float = 0.9, side: float = 0.2) -> Region:
    return Region(0, "find", Box(x, 0.2, x + side, 0.4), label, confidence)


def test_a_thumbnail_is_small_and_grey_and_never_enlarged() -> None:
    assert thumbnail(np.zeros((720, 1280, 3), np.uint8)).shape == (HEIGHT, WIDTH)
    assert thumbnail(np.zeros((48, 64, 3), np.uint8)).shape == (48, 64)


@pytest.mark.parametrize(
    ("width", "height"), [(320, 240), (768, 432), (1000, 563), (1280, 720), (1921, 1081), (3840, 2160)]
)
def test_a_level_of_a_thumbnail_is_the_mean_of_its_area(width: int, height: int) -> None:
    picture = cv2.resize(np.dstack([texture(seed, 270, 480) for seed in (1, 2, 3)]), (width, height))
    small = thumbnail(picture)
    grey = cv2.cvtColor(picture.astype(np.float32), cv2.COLOR_BGR2GRAY)
    apart = np.abs(small - cv2.resize(grey, small.shape[::-1], interpolation=cv2.INTER_AREA))
    assert apart.max() < 4
    assert apart.mean() < 0.5


@given(st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=60))
def test_the_middle_is_the_median(values: list[float]) -> None:
    array = np.array(values, np.float32)
    assert middle(array) == np.median(array)
    assert middle(np.column_stack([array, -array])).tolist() == [middle(array), middle(-array)]


@pytest.mark.parametrize("step", [(5, 0), (0, -4), (-6, 3), (0, 0)])
def test_a_box_follows_its_pixels(step: tuple[int, int]) -> None:
    before, now = scene(80, 50), scene(80 + step[0], 50 + step[1])
    found = moved(flow(before, now), box_of(80, 50))
    assert found == pytest.approx(box_of(80 + step[0], 50 + step[1]), abs=2.0 / HEIGHT)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 3), (4000, 8), (8, 2000), (15, 15), (16, 16), (300, 17)])
def test_frames_of_any_shape_can_be_looked_at(width: int, height: int) -> None:
    rng = np.random.default_rng(5)
    first, second = (thumbnail(rng.integers(0, 255, (height, width, 3), np.uint8)) for _ in range(2))
    assert changed_cells(first, second).shape == (ROWS, COLUMNS)
    assert np.isfinite(moved(flow(first, second), np.array([0.1, 0.1, 0.5, 0.6]))).all()


def test_flow_depends_on_its_two_pictures_alone_whatever_other_threads_look_at() -> None:
    flow(texture(3, 17, 40), texture(4, 17, 40))
    pairs = [(scene(80, 50), scene(80 + step, 50)) for step in range(-6, 7)] * 8
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda pair: flow(*pair), pairs))
    assert all((each == flow(*pair)).all() for each, pair in zip(found, pairs, strict=True))


def test_a_box_outside_of_the_frame_stays() -> None:
    still = flow(texture(1), texture(1))
    outside = np.array([1.2, 0.2, 1.4, 0.4])
    assert (moved(still, outside) == outside).all()


def test_a_box_grows_with_its_object() -> None:
    before = scene(100, 50)
    now = texture(1)
    now[46:94, 96:144] = cv2.resize(texture(2, 40, 40), (48, 48), interpolation=cv2.INTER_LINEAR)
    found = moved(flow(before, now), box_of(100, 50))
    assert 1.03 < (found[2] - found[0]) / (40 / WIDTH) <= 1.2


def test_a_change_of_light_and_noise_are_no_movement_and_a_patch_is() -> None:
    rng = np.random.default_rng(3)
    before = scene(40, 40)
    noisy = np.clip(before.astype(np.int16) + 14 + rng.integers(-5, 6, before.shape), 0, 255).astype(np.uint8)
    assert not changed_cells(before, noisy).any()
    found = changed_cells(before, scene(160, 40))
    assert found[5:9, 21:24].any()
    assert found[5:9, 6:9].any()
    assert not found[12:].any()


def test_a_cut_to_another_textured_picture_changes_most_cells() -> None:
    blocks = [np.random.default_rng(seed).integers(0, 2, (9, 16), np.uint8) * 200 for seed in (1, 2)]
    before, now = (texture(seed) // 4 + np.kron(each, np.ones((16, 16), np.uint8)) for seed, each in enumerate(blocks))
    assert changed_cells(before, now).mean() > 0.4


def test_covered_cells_are_those_of_widened_boxes_within_the_frame() -> None:
    covered = covered_cells(np.array([[0.5, 0.5, 0.6, 0.6], [-0.5, 0.9, 0.1, 1.5]]))
    assert covered.shape == (ROWS, COLUMNS)
    assert covered[9:11, 16:19].all()
    assert not covered[:7].any()
    assert covered[17, 0]
    assert not covered_cells(np.zeros((0, 4))).any()


def named(region: Region, identity: int) -> Region:
    return replace(region, identity=identity)


def test_regions_that_have_left_the_frame_are_gone_and_those_at_the_border_are_clipped() -> None:
    field = np.zeros((HEIGHT, WIDTH, 2), np.float32)
    field[..., 0] = 0.12 * WIDTH
    near, far, middle = region(0.75), region(0.9, side=0.1), region(0.3)
    kept = shifted([near, far, middle], field)
    assert [round(each.box.x_max, 2) for each in kept] == [1.0, 0.62]
    assert kept[0].box.area >= LEAST_INSIDE * near.box.area
    kept = centred([named(near, 1), named(far, 2)], {1: (0.95, 0.5), 2: (1.03, 0.5)})
    assert [round(each.box.x_max, 2) for each in kept] == [1.0]


def test_landmarks_keep_their_place_in_a_box_that_moves_also_where_the_frame_cuts_it() -> None:
    field = np.zeros((HEIGHT, WIDTH, 2), np.float32)
    field[..., 0] = 0.12 * WIDTH
    face = region(0.75)
    middle = (face.box.x_min + face.box.x_max) / 2, (face.box.y_min + face.box.y_max) / 2
    face.landmarks = ((face.box.x_min, face.box.y_min), middle)
    (moved,) = shifted([face], field)
    assert moved.box.x_max == 1.0
    assert np.array(moved.landmarks) - np.array(face.landmarks) == pytest.approx(np.array([[0.12, 0.0]] * 2), abs=1e-3)
    (there,) = centred([named(face, 1)], {1: (middle[0] + 0.12, middle[1])})
    assert there.box.x_max == 1.0
    assert np.array(there.landmarks) - np.array(face.landmarks) == pytest.approx(np.array([[0.12, 0.0]] * 2))


def test_age_takes_confidence_and_leaves_the_region_that_is_kept_as_it_was() -> None:
    kept = region(0.3)
    kept.track_id = 7
    given_out = aged(kept, 0.5)
    assert (given_out.age_s, given_out.track_id, given_out.attributes) == (0.5, None, [])
    assert given_out.confidence == pytest.approx(0.9 * 0.95)
    assert (kept.age_s, kept.confidence, kept.track_id) == (None, 0.9, 7)
    assert aged(kept, 1e9).confidence == 0.0


def test_agreement_counts_unmatched_objects_only_where_the_detector_is_sure() -> None:
    assert agreement([], [], 0.5) == 1.0
    assert agreement([region(0.1)], [region(0.12)], 0.5) == 1.0
    assert agreement([region(0.1)], [region(0.12, "bus")], 0.5) == 0.0
    assert agreement([region(0.1), region(0.6)], [region(0.1)], 0.5) == 0.5
    assert agreement([region(0.1), region(0.6, confidence=0.4)], [region(0.1)], 0.5) == 1.0
    assert agreement([region(0.1)], [region(0.1), region(0.6)], 0.5) == 0.5


def test_no_place_can_agree_better_than_the_counts() -> None:
    assert same_counts([region(0.1)], [region(0.7)], 0.5) == 1.0
    assert same_counts([region(0.1)], [region(0.1, "bus")], 0.5) == 0.0
    assert same_counts([region(0.1), region(0.3, confidence=0.4)], [region(0.1)], 0.5) == 1.0
    assert same_counts([], [], 0.5) == 1.0


answers = st.lists(
    st.builds(region, st.floats(0, 0.8), st.sampled_from(["car", "bus"]), st.floats(0.3, 1.0), st.just(0.2)),
    max_size=5,
)


@settings(deadline=None)
@given(answers, answers)
def test_agreement_is_a_share_perfect_with_itself_and_below_that_of_sorted_counts(
    one: list[Region], other: list[Region]
) -> None:
    found = agreement(one, other, 0.0)
    assert 0.0 <= found <= same_counts(one, other, 0.0) + 1e-9
    assert agreement(one, one, 0.0) == 1.0
