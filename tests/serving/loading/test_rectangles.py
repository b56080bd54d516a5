"""Which shape pictures of a size are given in."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.testing import card_of
from serving.catalogue.cards import ImageInput, ModelCard
from serving.errors import BackendDown, ModelError, OutOfService, SluiceError
from serving.graphs.surgery.sizes import Size
from serving.loading.rectangles import MOST_SHAPES, TRIED_AFTER, WORTH, Rectangles, nearest, rectangle
from serving.preprocess import place

SQUARE = ImageInput(width=416, height=416, resize="letterbox")
FACES = ImageInput(width=640, height=480, resize="letterbox")


@pytest.mark.parametrize(
    ("size", "picture", "wanted"),
    [
        (SQUARE, (1280, 720), (416, 256)),
        (SQUARE, (768, 432), (416, 256)),
        (SQUARE, (640, 480), (416, 320)),
        (SQUARE, (720, 1280), (256, 416)),
        (SQUARE, (1300, 100), (416, 32)),
        (SQUARE, (8192, 1), (416, 32)),
        (SQUARE, (500, 480), None),
        (SQUARE, (416, 416), None),
        (FACES, (1280, 720), (640, 384)),
        (FACES, (640, 480), None),
        (FACES, (720, 1280), (288, 480)),
        (SQUARE.model_copy(update={"resize": "stretch"}), (1280, 720), None),
        (SQUARE.model_copy(update={"width": 20, "height": 20}), (1280, 720), None),
    ],
)
def test_the_shape_follows_the_picture(
    size: ImageInput, picture: tuple[int, int], wanted: tuple[int, int] | None
) -> None:
    assert rectangle(size, *picture, 32) == wanted


@pytest.mark.parametrize(
    ("picture", "detail", "wanted"),
    [
        ((1280, 720), 544, (544, 320)),
        ((1280, 720), 832, (832, 480)),
        ((1280, 720), 320, (320, 192)),
        ((720, 1280), 640, (384, 640)),
        ((640, 360), 832, (640, 384)),
        ((320, 180), 832, (416, 256)),
        ((640, 640), 416, None),
        ((640, 640), 640, (640, 640)),
    ],
)
def test_more_detail_is_a_larger_shape_and_no_picture_is_enlarged_for_it(
    picture: tuple[int, int], detail: int, wanted: tuple[int, int] | None
) -> None:
    assert rectangle(SQUARE, *picture, 32, detail) == wanted
    assert rectangle(SQUARE.model_copy(update={"resize": "stretch"}), *picture, 32, detail) is None


@given(st.integers(1, 8192), st.integers(1, 8192), st.sampled_from([32, 64, 128]), st.sampled_from([SQUARE, FACES]))
def test_a_picture_lies_in_its_shape_as_in_the_square(width: int, height: int, step: int, size: ImageInput) -> None:
    found = rectangle(size, width, height, step)
    if found is not None:
        assert found.width % step == found.height % step == 0
        assert found.width * found.height <= WORTH * size.width * size.height
        fitted = size.model_copy(update={"width": found.width, "height": found.height})
        assert place(fitted, width, height).scale_x == pytest.approx(place(size, width, height).scale_x, rel=1e-4)


def test_the_smallest_that_holds_it_is_nearest() -> None:
    known = [Size(416, 320), Size(416, 256), Size(256, 416)]
    assert nearest(Size(416, 224), known) == Size(416, 256)
    assert nearest(Size(224, 416), known) == Size(256, 416)
    assert nearest(Size(416, 352), known) is None


class Loads:
    """Makes networks ready, or refuses to."""

    def __init__(self, refused: SluiceError | None = None, fits: int = 1) -> None:
        """``fits``: only shapes whose height is a multiple of it are not refused."""
        self.refused, self.fits, self.asked = refused, fits, list[str]()
        card = {"task": "detect", "decoding": {"kind": "yolox"}, "input": SQUARE.model_dump()}
        self.own = card_of("net", **card)
        self.larger = True
        self.shapes = Rectangles(lambda model: self.own, self.load)

    async def load(self, name: str) -> float:
        self.asked.append(name)
        await asyncio.sleep(0)
        assert self.shapes.source(name) is not None
        if not self.larger and int(name.partition("+")[2].partition("x")[0]) > self.own.input.width:
            raise ModelError("its grids are stored")
        if self.refused is not None and int(name.rpartition("x")[2]) % self.fits:
            raise self.refused
        return 0.1

    async def size(self, width: int, height: int, detail: int | None = None) -> tuple[int, int]:
        card: ModelCard = await self.shapes.fitted("net", width, height, detail)
        return card.input.width, card.input.height


def pictures(width: int, height: int) -> np.ndarray:
    return np.zeros((2, 3, height, width), np.float32)


async def test_a_shape_is_loaded_once_for_all_streams(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    loads = Loads()
    assert await asyncio.gather(*(loads.size(1280, 720) for _ in range(3))) == [(416, 256)] * 3
    assert await loads.size(768, 432) == (416, 256)
    assert loads.asked == ["net+416x256"]
    assert loads.shapes.source("net+416x256") == ("net", (416, 256))
    assert loads.shapes.source("net") is None
    assert caplog.text.count("net is run at 416 × 256 too, with 0.62 of the pixels of its own input") == 1


async def test_a_batch_goes_to_the_network_of_its_shape() -> None:
    loads = Loads()
    await loads.size(1280, 720)
    assert loads.shapes.latest("net") == "net"
    assert loads.shapes.name("net", pictures(416, 256)) == "net+416x256"
    assert loads.shapes.latest("net") == "net+416x256"
    assert loads.shapes.name("net", pictures(416, 416)) == "net"
    assert loads.shapes.latest("net") == "net"
    assert loads.shapes.name("net", pictures(416, 320)) == "net"
    assert loads.shapes.name("other", pictures(416, 256)) == "other"


async def test_cameras_that_change_their_size_do_not_fill_the_memory() -> None:
    loads = Loads()
    sizes = [await loads.size(1000, height) for height in range(20, 1000, 20)]
    assert len(loads.asked) == MOST_SHAPES
    assert set(sizes) == {(416, 32 * (1 + place)) for place in range(MOST_SHAPES)} | {(416, 416)}
    assert await loads.size(2000, 200) == (416, 64)


async def test_a_network_that_is_bound_to_its_shape_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    loads = Loads(ModelError("its numbers differ"), fits=1000)
    assert [await loads.size(1280, height) for height in (720, 720, 300, 500)] == [(416, 416)] * 4
    assert loads.asked == ["net+416x256"]
    assert loads.shapes.source("net+416x256") is None
    assert caplog.text.count("net takes pictures of all shapes at 416 × 416: its numbers differ") == 1


async def test_larger_steps_are_tried() -> None:
    loads = Loads(ModelError("sizes do not fit"), fits=64)
    loads.own = loads.own.model_copy(update={"input": SQUARE.model_copy(update={"width": 640, "height": 640})})
    assert await loads.size(1000, 400) == (640, 256)
    assert await loads.size(1000, 450) == (640, 320)
    assert await loads.size(1000, 400) == (640, 256)
    assert loads.asked == ["net+640x256", "net+640x288", "net+640x320"]


async def test_a_backend_that_was_down_is_asked_for_the_shape_again() -> None:
    loads = Loads(BackendDown("backend gpu: it has too much to do"), fits=1000)
    for _ in range(TRIED_AFTER):
        assert await loads.size(1280, 720) == (416, 416)
    assert loads.asked == ["net+416x256"]
    loads.refused = None
    assert await loads.size(1280, 720) == (416, 256)


async def test_a_network_that_did_not_return_is_not_tried_again() -> None:
    loads = Loads(OutOfService("did not return"), fits=1000)
    assert [await loads.size(1280, 720) for _ in range(3)] == [(416, 416)] * 3
    assert loads.asked == ["net+416x256"]


async def test_a_shape_for_which_there_is_no_memory_leaves_the_others_as_they_are() -> None:
    loads = Loads()
    assert await loads.size(1280, 720) == (416, 256)
    loads.refused, loads.fits = ModelError("no memory"), 1000
    assert [await loads.size(640, 480) for _ in range(2)] == [(416, 416)] * 2
    assert await loads.size(1280, 720) == (416, 256)
    assert loads.asked == ["net+416x256", "net+416x320"]
    assert loads.shapes.name("net", pictures(416, 416)) == "net"


async def test_detail_is_had_where_the_network_takes_it() -> None:
    loads = Loads()
    assert await loads.size(1280, 720, 544) == (544, 320)
    assert await loads.size(1280, 720) == (416, 256)
    assert await loads.size(1280, 720, 320) == (320, 192)
    assert loads.asked == ["net+544x320", "net+416x256", "net+320x192"]


async def test_a_network_that_takes_no_larger_pictures_is_shown_as_much_as_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    loads = Loads()
    loads.larger = False
    assert [await loads.size(1280, 720, detail) for detail in (544, 832, None)] == [(416, 256)] * 3
    assert [await loads.size(640, 480, 640) for _ in range(2)] == [(416, 320)] * 2
    assert loads.asked == ["net+544x320", "net+416x256", "net+416x320"]
    assert caplog.text.count("net takes no larger pictures than 416 × 416: its grids") == 1


async def test_a_detail_beyond_the_shapes_that_may_be_loaded_is_as_near_as_there_is() -> None:
    loads = Loads()
    for detail in (480, 544, 640, 736, 832, 928, 1024, 1120):
        await loads.size(1280, 720, detail)
    assert await loads.size(1280, 720, 512) == (544, 320)
    assert await loads.size(1280, 720, 1280) == (480, 288)
    assert len(loads.asked) == MOST_SHAPES
