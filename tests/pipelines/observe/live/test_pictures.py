"""Pictures are made for those who look, as often as is allowed, and not otherwise."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from typing import Any

import cv2
import numpy as np
import pytest
from msgspec.structs import replace

from operators.frames.codec import encode_frame
from operators.wire.schema import BoundingBox, Result, StreamStatus
from pipelines.observe.live import pictures
from pipelines.observe.live.board import Board
from pipelines.observe.live.broker_feed import Pairs
from pipelines.observe.live.pictures import AT_ONCE, Pictures
from pipelines.observe.live.viewers import MOST_VIEWERS, MOST_WAITING, TooManyViewers, Viewer, Viewers
from serving.common.tensors import Image
from tests.operators.publish.messages import AT, picture, result, thing


class Studio:
    """Pictures, with a clock that is set by hand and a count of frames that were looked at."""

    def __init__(self, streams: int = 1) -> None:
        self.now_s, self.loaded = 0.0, 0
        self.viewers, self.board = Viewers(), Board(lambda: self.now_s)
        for number in range(streams):
            self.board.in_state(StreamStatus(stream=f"s{number}", run="r", state="running", uri="", at=AT))
        self.pictures = Pictures(self.viewers, self.board, lambda: self.now_s)

    async def offer(self, of: Result, width: int = 64) -> None:
        self.pictures.offer(of, lambda: self._load(width))
        await self.pictures.settled()

    def _load(self, width: int) -> Image:
        self.loaded += 1
        return np.full((width // 2, width, 3), 90, np.uint8)


async def shown(viewer: Viewer) -> list[dict[str, object]]:
    async with asyncio.timeout(120):
        lines = (await viewer.next()).decode().split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def test_while_nobody_looks_nothing_is_made() -> None:
    studio = Studio()
    for number in range(20):
        await studio.offer(result(number))
    assert studio.loaded == 0


async def test_who_looks_gets_a_picture_with_what_was_found_in_it() -> None:
    studio = Studio()
    with studio.viewers.looking(None) as viewer:
        await studio.offer(result(7, thing(1, "car")), width=2000)
        (told,) = await shown(viewer)
    assert (told["stream"], told["seq"]) == ("yard", 7)
    (found,) = told["objects"]  # type: ignore[misc]
    assert found == {"box": [0.25, 0.25, 0.5, 0.75], "label": "car", "confidence": 0.8, "track": 1, "who": "detector"}
    jpeg = np.frombuffer(base64.b64decode(str(told["jpeg"])), np.uint8)
    assert cv2.imdecode(jpeg, cv2.IMREAD_COLOR).shape == (320, 640, 3)


async def test_who_comes_when_a_stream_has_ended_sees_its_last_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "LAST", 3)
    studio = Studio()
    await studio.offer(result(0, stream="s4"))
    assert not studio.pictures._last  # unless it is asked for no frame is kept
    studio.pictures.keeps_last = True
    for number in range(5):
        await studio.offer(result(number, stream=f"s{number}"))
    await studio.offer(result(9, thing(1), stream="s3"), width=2000)
    assert studio.loaded == 0
    with studio.viewers.looking(None) as viewer:
        await studio.pictures.show_last(viewer)
        assert sorted((told["stream"], told["seq"]) for told in await shown(viewer)) == [
            ("s2", 2),
            ("s3", 9),
            ("s4", 4),
        ]
    with studio.viewers.looking("s3") as viewer, studio.viewers.looking("s0") as other:
        await studio.pictures.show_last(viewer)
        await studio.pictures.show_last(other)
        (told,) = await shown(viewer)
    jpeg = np.frombuffer(base64.b64decode(str(told["jpeg"])), np.uint8)
    assert cv2.imdecode(jpeg, cv2.IMREAD_COLOR).shape[1] == 1280
    assert studio.loaded == 4


async def test_the_wall_gets_small_ones_and_a_streams_page_large_ones_of_its_stream() -> None:
    studio = Studio()
    with studio.viewers.looking("yard") as yard, studio.viewers.looking("gate") as gate:
        await studio.offer(result(0, stream="yard"), width=2000)
        (told,) = await shown(yard)
        jpeg = np.frombuffer(base64.b64decode(str(told["jpeg"])), np.uint8)
        assert cv2.imdecode(jpeg, cv2.IMREAD_COLOR).shape[1] == 1280
        await studio.offer(result(0, stream="market"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await gate.next()
    assert studio.loaded == 1


@pytest.mark.parametrize(("streams", "gap_s"), [(1, 0.5), (4, 0.5), (32, 2.0)])
async def test_pictures_are_throttled_and_many_streams_share_what_there_is(streams: int, gap_s: float) -> None:
    studio = Studio(streams)
    with studio.viewers.looking(None):
        for number in range(100):
            studio.now_s = number / 10
            await studio.offer(result(number))
    assert studio.loaded == round(10 / gap_s)


async def test_streams_whose_frames_come_together_have_pictures_in_turns() -> None:
    studio = Studio(16)
    made = Counter[str]()
    with studio.viewers.looking(None) as viewer:
        for number in range(50):
            studio.now_s = number / 5
            for stream in (f"s{each}" for each in range(16)):
                studio.pictures.offer(result(number, stream=stream), lambda: studio._load(64))
            await studio.pictures.settled()
            made.update(str(told["stream"]) for told in await shown(viewer))
    assert made.keys() == {f"s{each}" for each in range(16)}
    assert max(made.values()) - min(made.values()) <= 1


async def test_only_who_had_a_picture_leaves_room_for_those_that_wait() -> None:
    studio = Studio(5)
    with studio.viewers.looking(None):
        for stream in ("s0", "s1", "s2", "s3"):  # the latter two have to wait
            studio.pictures.offer(result(0, stream=stream), lambda: studio._load(64))
        await studio.pictures.settled()
        await studio.offer(result(0, stream="s4"))
        assert studio.loaded == AT_ONCE + 1, "nothing else is being made"
        studio.now_s = 1.0
        await studio.offer(result(1, stream="s0"))
        assert studio.loaded == AT_ONCE + 1
        await studio.offer(result(1, stream="s2"))
        await studio.offer(result(1, stream="s0"))
        assert studio.loaded == AT_ONCE + 3


async def test_a_stream_that_asks_no_more_has_no_turn() -> None:
    studio = Studio(3)
    with studio.viewers.looking(None):
        for stream in ("s0", "s1", "s2"):  # the third has to wait
            studio.pictures.offer(result(0, stream=stream), lambda: studio._load(64))
        await studio.pictures.settled()
        assert studio.loaded == AT_ONCE
        studio.now_s = pictures.ASKS_S
        for stream in ("s0", "s1"):
            studio.pictures.offer(result(1, stream=stream), lambda: studio._load(64))
        await studio.pictures.settled()
    assert studio.loaded == 2 * AT_ONCE


async def test_streams_without_end_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "REMEMBERED", 3)
    studio = Studio()
    with studio.viewers.looking(None):
        for number in range(20):
            await studio.offer(result(0, stream=f"s{number}"))
        assert len(studio.pictures._made_s) == 3 >= len(studio.pictures._served)
    await studio.offer(result(0))
    assert len(studio.pictures._made_s) == 0


async def test_few_frames_are_held_at_once() -> None:
    studio = Studio(streams=8)
    with studio.viewers.looking(None):
        for number in range(8):
            studio.pictures.offer(result(0, stream=f"s{number}"), lambda: studio._load(64))
        await studio.pictures.settled()
    assert studio.loaded == AT_ONCE


async def test_a_picture_that_cannot_be_made_costs_itself_alone(caplog: pytest.LogCaptureFixture) -> None:
    studio = Studio()

    def broken() -> Image:
        raise ValueError("no picture; password=hunter2")

    with studio.viewers.looking(None) as viewer:
        for number in range(3):
            studio.now_s += 1
            studio.pictures.offer(result(number), broken)
            await studio.pictures.settled()
        studio.now_s += 1
        await studio.offer(result(9))
        assert [told["seq"] for told in await shown(viewer)] == [9]
    (line,) = caplog.messages
    assert "logged once" in line
    assert "hunter2" not in line


async def test_the_frame_is_taken_as_it_is_and_nobody_waits() -> None:
    studio, of = Studio(), result(1)
    with studio.viewers.looking(None) as viewer:
        await studio.pictures.take(picture(of), of)
        await studio.pictures.settled()
        assert len(await shown(viewer)) == 1


async def test_events_get_a_thumbnail_of_their_object_while_somebody_looks() -> None:
    studio = Studio()
    for seq in range(3):
        studio.board.came(result(seq, thing(1, "car"), stream="yard"))
        await studio.offer(result(seq, thing(1, "car")), width=640)
        studio.now_s += 1
    assert studio.board.thumbnail("yard", 1) is None
    with studio.viewers.looking("gate"):
        await studio.offer(result(3, thing(2, "car")), width=640)  # another object
        assert studio.board.thumbnail("yard", 1) is None
        await studio.offer(result(4, thing(1, "car")), width=640)
        await studio.offer(result(5, thing(1, "car")), width=640)  # it has one
    jpeg = studio.board.thumbnail("yard", 1)
    assert jpeg is not None
    assert cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR).shape == (128, 128, 3)
    assert studio.loaded == 1
    studio.board.came(result(90, thing(3)))
    left, _ = (each for each in shown_events(studio.board) if each["kind"] in ("left", "came") and each["track"] == 1)
    assert (left["kind"], left["thumbnail"]) == ("left", 1)
    assert studio.board.thumbnail("yard", left["number"]) == jpeg
    assert studio.board.thumbnail("nobody", 1) is None


def shown_events(board: Board) -> list[dict[str, Any]]:
    view = board.stream("yard")
    assert view is not None
    return list(view["events"])


@pytest.mark.parametrize("corners", [(-1.0, -1.0, -0.5, -0.5), (2.0, 0.2, 2.0, 0.4), (0.5, 0.5, 0.5, 0.5)])
async def test_an_object_outside_the_picture_has_no_thumbnail(corners: tuple[float, ...]) -> None:
    studio = Studio()
    box = BoundingBox(**dict(zip(("x_min", "y_min", "x_max", "y_max"), corners, strict=True)))
    found = replace(thing(1), detection=replace(thing(1).detection, bounding_box=box))
    with studio.viewers.looking(None) as viewer:
        for seq in range(3):
            studio.board.came(result(seq, found))
            await studio.offer(result(seq, found))
        assert await shown(viewer)
    assert [each["thumbnail"] for each in shown_events(studio.board)] == [0]


async def test_where_the_page_stays_events_get_thumbnails_though_nobody_looks() -> None:
    studio = Studio()
    studio.pictures.keeps_last = True
    for seq in range(5):
        studio.board.came(result(seq, thing(1)))
        await studio.offer(result(seq, thing(1)))
    assert studio.board.thumbnail("yard", 1) is not None
    assert studio.loaded == 1


async def test_thumbnails_are_throttled() -> None:
    studio = Studio()
    with studio.viewers.looking("elsewhere"):
        for seq in range(100):
            studio.now_s = seq / 20
            studio.board.came(result(seq, thing(seq), media_time_s=0.0))
            await studio.offer(result(seq, thing(seq)))
    assert 20 <= studio.loaded <= 26  # five a second


def test_viewers_are_bounded() -> None:
    viewers = Viewers(most=2)
    with viewers.looking(None), viewers.looking("gate"):
        with pytest.raises(TooManyViewers), viewers.looking(None):
            pass
        assert len(viewers) == 2
    assert len(viewers) == 0
    assert MOST_VIEWERS == 16


async def test_a_slow_viewer_gets_the_newest_of_a_kind_and_holds_little() -> None:
    viewer = Viewer(None)
    for number in range(10 * MOST_WAITING):
        viewer.send(f"picture {number}", "picture", b"%d" % number)
        viewer.send("wall", "wall", b"%d" % number)
    lines = (await viewer.next()).decode().split("\n\n")
    assert len(lines) - 1 == MOST_WAITING
    assert f"event: wall\ndata: {10 * MOST_WAITING - 1}" in lines


@pytest.fixture
def frames() -> list[tuple[Result, bytes]]:
    return [(result(number), encode_frame(picture(result(number)))[1]) for number in range(4)]


def test_frames_and_results_find_each_other_in_either_order(frames: list[tuple[Result, bytes]]) -> None:
    pairs = Pairs()
    headers = [encode_frame(picture(of))[0] for of, _ in frames]
    (first, jpeg), (second, _) = frames[:2]
    assert pairs.frame(headers[0], jpeg) == []
    assert pairs.result(first) == [(first, (headers[0], jpeg))]
    assert pairs.result(second) == []
    assert pairs.frame(headers[1], jpeg) == [(second, (headers[1], jpeg))]


def test_what_waits_for_its_other_half_is_bounded(frames: list[tuple[Result, bytes]]) -> None:
    pairs, size = Pairs(most_bytes=1000, most_waiting=3), 400
    headers = [encode_frame(picture(of))[0] for of, _ in frames]
    for header in headers:
        pairs.frame(header, b"x" * size)
        pairs.frame(header, b"x" * size)
    assert pairs.bytes == 2 * size
    assert [len(pairs.result(of)) for of, _ in frames] == [0, 0, 1, 1]
    for number in range(100):
        pairs.result(result(number, stream="other"))
    assert len(pairs._results) == 3
    pairs.clear()
    assert pairs.bytes == 0
