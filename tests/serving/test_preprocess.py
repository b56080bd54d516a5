from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving import preprocess
from serving.catalogue.cards import ImageInput
from serving.preprocess import Pixels


def plain(height: int, width: int, blue: int = 10, green: int = 20, red: int = 30) -> Pixels:
    return np.full((height, width, 3), (blue, green, red), np.uint8)


def test_channels_are_ordered_and_normalised() -> None:
    size = ImageInput(width=4, height=2, colour="rgb", scale=0.5, mean=(1, 2, 3), std=(2, 4, 8))
    batch, _ = preprocess.batch(size, [plain(2, 4)])
    assert batch.dtype == np.float32
    assert batch.shape == (1, 3, 2, 4)
    np.testing.assert_allclose(batch[0, :, 0, 0], [(15 - 1) / 2, (10 - 2) / 4, (5 - 3) / 8], rtol=1e-6)


def test_normalising_keeps_single_precision() -> None:
    size = ImageInput(width=1, height=1, colour="bgr", scale=1 / 255, mean=(0.485, 0, 0), std=(0.229, 1, 1))
    batch, _ = preprocess.batch(size, [plain(1, 1, blue=250)])
    assert batch[0, 0, 0, 0] == pytest.approx((250 / 255 - 0.485) / 0.229, rel=1e-6)


def test_half_precision_for_graphs_that_take_it() -> None:
    size = ImageInput(
        width=1, height=1, colour="bgr", scale=1 / 255, mean=(0.5, 0, 0), std=(0.25, 1, 1), dtype="float16"
    )
    batch, _ = preprocess.batch(size, [plain(1, 1, blue=250, red=0)])
    assert batch.dtype == np.float16
    np.testing.assert_allclose(batch[0, :, 0, 0], [(250 / 255 - 0.5) / 0.25, 20 / 255, 0.0], rtol=2e-3)


def test_bgr_stays_bgr() -> None:
    batch, _ = preprocess.batch(ImageInput(width=1, height=1, colour="bgr"), [plain(3, 3)])
    assert batch[0, :, 0, 0].tolist() == [10, 20, 30]


def test_bytes_in_rows_for_graphs_that_take_them() -> None:
    size = ImageInput(width=4, height=2, layout="nhwc", dtype="uint8")
    batch, _ = preprocess.batch(size, [plain(2, 4)])
    assert batch.dtype == np.uint8
    assert batch.shape == (1, 2, 4, 3)
    assert batch[0, 0, 0].tolist() == [30, 20, 10]


def test_letterbox_pads_right_and_below() -> None:
    size = ImageInput(width=8, height=8, colour="bgr", resize="letterbox", pad=114)
    batch, (placement,) = preprocess.batch(size, [plain(2, 4)])
    assert (batch[0, 0, :4] == 10).all()
    assert (batch[0, :, 4:] == 114).all()
    assert (placement.scale_x, placement.offset_x) == (2.0, 0.0)


def test_crop_cuts_the_longer_side_evenly() -> None:
    image = np.hstack([plain(4, 2, blue=1), plain(4, 4, blue=2), plain(4, 2, blue=3)])
    batch, (placement,) = preprocess.batch(ImageInput(width=4, height=4, colour="bgr", resize="crop"), [image])
    assert (batch[0, 0] == 2).all()
    assert placement.offset_x == -2.0


@pytest.mark.parametrize("resize", ["stretch", "crop", "letterbox"])
def test_detail_beyond_what_is_asked_for_is_averaged_away(resize: str) -> None:
    fine = np.zeros((64, 64, 3), np.uint8)
    fine[:, ::2] = 200
    size = ImageInput(width=32, height=32, resize=resize)  # type: ignore[arg-type]
    kept, averaged = (preprocess.batch(each, [fine])[0] for each in (size, size.model_copy(update={"detail": 8})))
    np.testing.assert_allclose(averaged, 100, atol=1)
    ramp = np.tile(np.linspace(0, 255, 64, dtype=np.uint8)[None, :, None], (64, 1, 3))
    shown = preprocess.batch(size.model_copy(update={"detail": 8}), [ramp])[0][0, 0, 16]
    assert len(np.unique(shown.round())) > 8, "interpolated, not in blocks"
    assert np.corrcoef(shown, np.arange(32))[0, 1] > 0.99
    assert kept.shape == averaged.shape


def test_pictures_with_less_detail_stay_as_they_are() -> None:
    image = np.random.default_rng(0).integers(0, 256, (9, 12, 3), np.uint8)
    size = ImageInput(width=24, height=24)
    same = preprocess.batch(size.model_copy(update={"detail": 12}), [image])[0]
    assert np.array_equal(same, preprocess.batch(size, [image])[0])


def test_a_batch_holds_images_of_any_size() -> None:
    batch, placements = preprocess.batch(ImageInput(width=4, height=4), [plain(2, 9), plain(300, 1), plain(1, 1)])
    assert batch.shape == (3, 3, 4, 4)
    assert [(each.width, each.height) for each in placements] == [(9, 2), (1, 300), (1, 1)]


def test_no_images_are_an_empty_batch() -> None:
    batch, placements = preprocess.batch(ImageInput(width=4, height=4), [])
    assert batch.shape == (0, 3, 4, 4)
    assert placements == []


@pytest.mark.parametrize(("width", "height"), [(900, 520), (1920, 1080), (1937, 1093), (3840, 2160), (5000, 300)])
def test_a_large_image_is_averaged_over_areas(width: int, height: int) -> None:
    rng = np.random.default_rng(3)
    smooth = cv2.resize(rng.integers(60, 190, (9, 16, 3), np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
    image = cv2.add(smooth, rng.integers(0, 40, smooth.shape, np.uint8))
    batch, _ = preprocess.batch(ImageInput(width=96, height=64, colour="bgr", scale=1.0), [image])
    exact = cv2.resize(image.astype(np.float32), (96, 64), interpolation=cv2.INTER_AREA)
    apart = np.abs(batch[0] - exact.transpose(2, 0, 1))
    assert apart.mean() < 1  # single pixels are 10 apart from their area's mean
    assert apart.max() < 8


def test_an_image_is_halved_as_long_as_it_is_far_too_large() -> None:
    assert preprocess.halved(plain(400, 800), 100, 100).shape == (200, 400, 3)
    assert preprocess.halved(plain(800, 1600), 100, 100).shape == (200, 400, 3)
    assert preprocess.halved(plain(399, 800), 100, 100).shape == (399, 800, 3)
    assert preprocess.halved(plain(1, 1), 1, 1).shape == (1, 1, 3)


def test_a_sliver_is_not_blown_up_before_it_is_cut() -> None:
    size = ImageInput(width=512, height=512, resize="crop")
    batch, _ = preprocess.batch(size, [plain(60_000, 1)])  # scaled whole it would have 16 gigapixels
    assert (batch[0, 0] == 30).all()


sides = st.integers(1, 400)


@settings(deadline=None)
@given(sides, sides, sides, sides, st.sampled_from(["stretch", "letterbox", "crop"]))
def test_every_image_fills_its_place(width: int, height: int, to_width: int, to_height: int, resize: str) -> None:
    size = ImageInput.model_validate({"width": to_width, "height": to_height, "resize": resize})
    batch, _ = preprocess.batch(size, [plain(height, width)])
    assert batch.shape == (1, 3, to_height, to_width)
    assert np.isfinite(batch).all()


shares = st.floats(0, 1, width=32)


@given(sides, sides, st.sampled_from(["stretch", "letterbox"]), st.tuples(shares, shares, shares, shares))
def test_boxes_come_back_where_they_were(
    width: int, height: int, resize: str, box: tuple[float, float, float, float]
) -> None:
    size = ImageInput.model_validate({"width": 416, "height": 320, "resize": resize})
    placed = preprocess.place(size, width, height)
    scale = np.array([width * placed.scale_x, height * placed.scale_y] * 2)
    inside = np.array([box]) * scale + [placed.offset_x, placed.offset_y] * 2
    np.testing.assert_allclose(placed.to_image(inside), [box], atol=1e-5)


def test_points_come_back_unclipped() -> None:
    placed = preprocess.place(ImageInput(width=8, height=8, resize="letterbox"), 16, 4)
    points = np.array([[[4.0, 1.0], [8.0, 8.0]], [[-4.0, 2.0], [0.0, 0.0]]])
    assert placed.points_to_image(points).tolist() == [[[0.5, 0.5], [1.0, 4.0]], [[-0.5, 1.0], [0.0, 0.0]]]


def test_boxes_in_the_padding_end_at_the_image() -> None:
    placed = preprocess.place(ImageInput(width=8, height=8, resize="letterbox"), 8, 4)
    assert placed.to_image(np.array([[-3.0, 2.0, 99.0, 8.0]])).tolist() == [[0.0, 0.5, 1.0, 1.0]]


def test_a_crop_maps_boxes_to_the_middle_of_the_image() -> None:
    placed = preprocess.place(ImageInput(width=4, height=4, resize="crop"), 8, 4)
    assert placed.to_image(np.array([[0.0, 0.0, 4.0, 4.0]])).tolist() == [[0.25, 0.0, 0.75, 1.0]]


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("colour", ["rgb", "bgr"])
@pytest.mark.parametrize(
    "fed",
    [
        {"scale": 1 / 255, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
        {"scale": 1.0},
        {"dtype": "uint8"},
    ],
)
def test_pictures_that_travelled_as_bytes_are_normalised_to_the_same_bits(layout: str, colour: str, fed: dict) -> None:
    own = ImageInput(width=9, height=7, resize="letterbox", layout=layout, colour=colour, **fed)
    sent = own.model_copy(
        update={"layout": "nhwc", "dtype": "uint8", "scale": 1.0, "mean": (0.0,) * 3, "std": (1.0,) * 3}
    )
    images = [np.random.default_rng(seed).integers(0, 256, (20, 31, 3), np.uint8) for seed in range(3)]
    expected, _ = preprocess.batch(own, images)
    travelled, _ = preprocess.batch(sent, images)
    found = preprocess.from_bytes(own, travelled)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()
