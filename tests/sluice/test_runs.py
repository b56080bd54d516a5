"""Runs from Python: results in order, and an end whenever the caller has had enough."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import cv2
import msgspec
import numpy as np
import pytest

import sluice
from operators.wire.schema import from_json
from tests.operators.capture.clips import make_clip
from tests.real.rtsp import MakeServer
from tests.sluice.clips import FRAMES, NODES, clip, query
from tests.turns import until


@pytest.fixture(autouse=True)
def _nothing_runs_on() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [each for each in set(threading.enumerate()) - before if not each.name.startswith("worker-")]
    for each in left:
        each.join(10)  # one that has said its last word may not have ended yet
    assert [each.name for each in left if each.is_alive()] == []


class Ends(sluice.Observer):
    """Notes how streams end."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def stream_state_changed(self, status: Any) -> None:
        self.states.append(status.state)


def test_every_frame_of_a_clip_has_its_result_in_order(tmp_path: Path) -> None:
    results = list(sluice.run(query(), clip(tmp_path)))
    assert [result.seq for result in results] == list(range(FRAMES))
    (found, *_) = results[-1].objects
    assert found.track_id is not None
    assert found.label == "moving"
    assert 0 <= found.box.x_min < found.box.x_max <= 1
    assert from_json(msgspec.json.encode(results[-1]), sluice.Result) == results[-1]


def test_a_query_file_is_run_on_its_streams_and_on_others(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    node = "{name: detect, task: detect, model: motion}"
    file.write_text(f"version: 1\nname: q\nslo_ms: 500\nstreams: [{{uri: clip.mp4}}]\nnodes: [{node}]\n")
    clip(tmp_path)
    assert [result.stream for result in sluice.run(file, limit=3)] == ["clip"] * 3
    assert [result.stream for result in sluice.run(str(file), clip(tmp_path, "other.mp4"), limit=2)] == ["other"] * 2


@pytest.mark.parametrize("name", [b"clip.mp4", b'it\'s "100%"\n.mp4', b"\xff.mp4"])
def test_a_clip_alone_is_looked_at_for_what_moves(tmp_path: Path, name: bytes) -> None:
    assert len(list(sluice.run(clip(tmp_path).rename(tmp_path / os.fsdecode(name)), limit=5))) == 5


def test_streams_are_each_in_order(tmp_path: Path) -> None:
    seqs = defaultdict(list)
    for result in sluice.run(query(), *(clip(tmp_path, f"{name}.mp4") for name in "abc")):
        seqs[result.stream].append(result.seq)
    assert seqs == {name: list(range(FRAMES)) for name in "abc"}


def test_pictures_come_where_they_are_asked_for(tmp_path: Path) -> None:
    (result,) = sluice.run(query(), clip(tmp_path), limit=1, frames=True)
    assert result.image is not None
    assert (result.image.shape, result.image.dtype) == ((180, 320, 3), np.uint8)
    result.image[90:, :100] = 7
    assert result.image[100, 50].tolist() == [7, 7, 7]
    (result,) = sluice.run(query(), clip(tmp_path), limit=1)
    assert result.image is None


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_a_copy_of_a_result_has_its_picture(tmp_path: Path, again: Callable[[sluice.Result], sluice.Result]) -> None:
    one, other = sluice.run(query(), clip(tmp_path), limit=2, frames=True)
    assert one.image is not None  # made before it is copied; the other's is made afterwards
    for result, copied in ((one, again(one)), (other, again(other))):
        assert copied == result
        np.testing.assert_array_equal(copied.image, result.image)


def test_an_object_is_cut_out_of_its_picture(tmp_path: Path) -> None:
    result = next(each for each in sluice.run(query(), clip(tmp_path), frames=True) if each.objects)
    assert result.image is not None
    box, (height, width) = result.objects[0].box, result.image.shape[:2]
    left, top, right, bottom = box.pixels(width, height)
    assert box.crop(result.image).shape == (bottom - top, right - left, 3)
    assert 0 < box.area < 1


def test_observers_hear_of_the_run(tmp_path: Path) -> None:
    ends = Ends()
    list(sluice.run(query(), clip(tmp_path), observers=[ends]))
    assert ends.states[-1] == "ended"


class Events(sluice.Observer):
    """Notes what tracks, zones and lines have to tell."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def event_found(self, event: Any) -> None:
        self.told.append(event.type if hasattr(event, "type") else "count")


def test_observers_hear_what_happens_at_lines_and_in_zones(tmp_path: Path) -> None:
    line = {"name": "middle", "streams": "*", "points": [[0.5, 0.0], [0.5, 1.0]]}
    heard, wanted = Events(), sluice.Query(name="test", slo_ms=5000, nodes=NODES, lines=[line])
    results = list(sluice.run(wanted, clip(tmp_path), observers=[heard]))
    assert heard.told.count("cross") == 1
    assert heard.told[0] == "new"
    assert "end" in heard.told
    assert len(results) == FRAMES


def test_a_file_waits_for_a_slow_caller(tmp_path: Path) -> None:
    class Captured(sluice.Observer):
        frames = 0

        def frame_captured(self, stream: str, seq: int) -> None:
            self.frames += 1

    seen = Captured()
    results = sluice.run(query(), clip(tmp_path, frames=60), observers=[seen])
    next(results)
    time.sleep(0.5)  # time in which the whole clip could be decoded
    assert seen.frames < 60
    assert len(list(results)) == 59


def test_leaving_the_loop_ends_the_run(tmp_path: Path) -> None:
    for result in sluice.run(query(), clip(tmp_path)):
        if result.seq == 3:
            break


def test_an_exception_in_the_loop_ends_the_run_and_is_the_callers(tmp_path: Path) -> None:
    def work() -> None:
        for result in sluice.run(query(), clip(tmp_path)):
            print(1 / (result.seq - 3))

    with pytest.raises(ZeroDivisionError):
        work()


def test_an_iterator_that_is_lost_ends_the_run(tmp_path: Path) -> None:
    results = [sluice.run(query(), clip(tmp_path))]
    next(results[0])
    results.append(results)  # type: ignore[arg-type]
    del results
    gc.collect()


def test_a_run_that_nobody_iterates_over_begins_nothing(tmp_path: Path) -> None:
    before = threading.active_count()
    results = sluice.run(query(), clip(tmp_path))
    assert threading.active_count() == before
    del results


def test_two_runs_go_on_at_once(tmp_path: Path) -> None:
    both = zip(sluice.run(query(), clip(tmp_path)), sluice.run(query(), clip(tmp_path, "b.mp4")), strict=True)
    assert [(one.stream, two.stream, one.seq == two.seq) for one, two in both] == [("clip", "b", True)] * FRAMES


@pytest.mark.rtsp
def test_a_camera_ends_with_the_loop(rtsp_server: MakeServer, tmp_path: Path) -> None:
    ends = Ends()
    for _ in sluice.run(
        query(), rtsp_server(make_clip(tmp_path / "camera.mp4", frames=48, fps=12)).uri, observers=[ends]
    ):
        break
    assert ends.states[-1] == "ended"


def test_pictures_that_cannot_be_read_are_a_warning_in_the_log_and_a_loop_that_is_left_is_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in sluice.run(query(), clip(tmp_path)):
        break
    assert caplog.records == []
    (tmp_path / "pictures").mkdir()
    cv2.imwrite(str(tmp_path / "pictures" / "a.png"), np.zeros((90, 160, 3), np.uint8))
    (tmp_path / "pictures" / "b.png").write_bytes(b"no picture")
    assert len(list(sluice.run(query(), tmp_path / "pictures"))) == 1
    said = caplog.records[-1]
    assert said.levelname == "WARNING"
    assert said.getMessage().startswith("stream pictures: ended, 1 frames: 1 of 2 images could not be read; ")


@pytest.fixture
def dead_camera() -> Iterator[str]:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        yield f"rtsp://u:hunter2@127.0.0.1:{nobody.getsockname()[1]}/yard"


async def test_a_camera_that_is_not_there_is_a_warning_in_the_log(
    dead_camera: str, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = asyncio.create_task(anext(aiter(sluice.arun(query(), dead_camera))))
    await until(lambda: bool(caplog.records) or waiting.done())
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    said = caplog.records[0]
    assert said.levelname == "WARNING"
    assert "-yard: reconnecting (refused), 0 frames: rtsp://***@127.0.0.1" in said.getMessage()
    assert "hunter2" not in caplog.text


def test_a_camera_that_is_given_up_is_an_error(dead_camera: str) -> None:
    with pytest.raises(sluice.SourceError, match=r"-yard: .*; given up after 0\.1 s without a frame"):
        list(sluice.run(query(), dead_camera, give_up_s=0.1))


async def test_in_an_event_loop_results_come_by_async_for(tmp_path: Path) -> None:
    assert [result.seq async for result in sluice.arun(query(), clip(tmp_path))] == list(range(FRAMES))


async def test_an_async_loop_that_is_left_ends_the_run(tmp_path: Path) -> None:
    async with aclosing(sluice.arun(query(), clip(tmp_path))) as results:
        async for _ in results:
            break


async def test_a_task_that_is_cancelled_ends_the_run(tmp_path: Path) -> None:
    first = asyncio.Event()

    async def work() -> None:
        async for _ in sluice.arun(query(), clip(tmp_path)):
            first.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.get_running_loop().shutdown_asyncgens()


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        ([None], {}, "not a NoneType; the first webcam is 'v4l2:0'"),
        ([0], {}, "not a int"),
        ([["a.mp4"]], {}, "one by one, not a list"),
        ([np.zeros((400, 400, 3), np.uint8)], {}, "not a ndarray"),
        (["a.mp4"], {"limit": 0}, "limit: is 0"),
        (["a.mp4"], {"limit": "3"}, "limit: is '3'"),
        (["a.mp4"], {"give_up_s": 0}, "give_up_s: is 0; a number of seconds"),
        (["a.mp4"], {"give_up_s": "1"}, "give_up_s: is '1'"),
        (["a.mp4"], {"observers": [object()]}, "observers: object does not extend sluice.Observer"),
        (["a.mp4"], {"observers": [Ends]}, "observers: Ends is a class: give an instance"),
        (["a.mp4"], {"observers": Ends()}, "observers: is a Ends; a list of them"),
        (["a.mp4"], {"operators": None}, "operators: is a NoneType; a dict of classes"),
        (["a.mp4"], {"models": "nowhere"}, "no such directory of models: nowhere"),
    ],
)
def test_arguments_of_other_types_are_refused_in_one_short_line(
    given: list[Any], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(sluice.SluiceError, match=said) as caught:
        sluice.run(query(), *given, **more)
    assert len(str(caught.value)) < 200
    with pytest.raises(sluice.BadInput, match="file is a path, not a dict; keys are given as Query"):
        sluice.Query({"name": "a"})  # type: ignore[arg-type]
    with pytest.raises(sluice.BadInput, match="operators: is a list; a dict of classes"):
        sluice.Query(name="a", operators=[Ends])  # type: ignore[arg-type]
    with pytest.raises(sluice.BadInput, match=r"a sluice\.Query or a path, not a dict"):
        sluice.run({"version": 1})  # type: ignore[arg-type]


def test_arrays_and_sets_are_lists_in_a_query(tmp_path: Path) -> None:
    left = np.array([[0, 0], [0.5, 0], [0.5, 1], [0, 1]])
    own: Any = {"name": "own", "slo_ms": np.float32(5000), "operators": {"halves": Halves}}
    nodes, zones = ({"name": "halves", "task": "halves"},), [{"name": "left", "polygon": left, "labels": {"half"}}]
    (result,) = sluice.run(sluice.Query(**own, nodes=nodes, zones=zones), clip(tmp_path), limit=1)
    assert [each.zones for each in result.objects] == [["left"], []]


def test_what_is_wrong_with_a_key_in_place_of_the_files_own_is_in_no_line(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text("version: 1\nname: q\nslo_ms: much\nnodes: [{name: a, task: track}]\n")
    with pytest.raises(sluice.QueryError) as caught:
        sluice.Query(file, nodes=[{"name": "find", "task": "detekt", "model": "motion"}])
    of_the_key, of_the_file = str(caught.value).splitlines()
    assert of_the_key.startswith(f"{file}: nodes[0].task: is 'detekt'")
    assert of_the_file.startswith(f"{file}:3: slo_ms: ")


def test_what_cannot_be_run_is_said_when_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(sluice.QueryError, match="the query has no streams"):
        sluice.run(query())
    with pytest.raises(sluice.QueryError, match=r"nodes\[2\].model: .*vehicle-tipe.*did you mean 'vehicle-type'"):
        sluice.run(
            query({"name": "type", "task": "recognise", "input": "track", "model": "vehicle-tipe"}), clip(tmp_path)
        )
    with pytest.raises(sluice.BadInput, match="neither a query"):
        sluice.run(tmp_path / "none.mp5")


def test_a_source_that_fails_is_raised_when_the_others_have_ended(tmp_path: Path) -> None:
    results = sluice.run(query(), tmp_path / "none.mp4", clip(tmp_path))
    assert [next(results).stream for _ in range(FRAMES)] == ["clip"] * FRAMES
    with pytest.raises(sluice.SourceError, match=r"stream none: .*none.mp4"):
        next(results)


class Big(sluice.Recogniser):
    """Says whether a picture is large."""

    def __init__(self, name: str, least: int = 10) -> None:
        super().__init__(name)
        self.least = least

    def look(self, pictures: Sequence[np.ndarray]) -> Sequence[tuple[str, float]]:
        return [("big" if picture.size >= self.least else "small", 0.9) for picture in pictures]


class Halves(sluice.Operator):
    """Finds two objects in every frame."""

    async def process(
        self, frame: sluice.Frame, regions: Sequence[sluice.Region], call: sluice.Call
    ) -> list[sluice.Region]:
        left, right = sluice.Box(0, 0, 0.5, 1), sluice.Box(0.5, 0, 1, 1)
        return [sluice.Region(0, "halves", box, "half", 1.0) for box in (left, right)]


def test_operators_of_the_programs_own_are_nodes_like_others(tmp_path: Path) -> None:
    nodes = [{"name": "halves", "task": "halves"}, {"name": "size", "task": "big", "input": "halves", "least": 20}]
    own = sluice.Query(name="own", slo_ms=5000, operators={"halves": Halves, "big": Big}, nodes=nodes)
    (result,) = sluice.run(own, clip(tmp_path), limit=1)
    assert [(found.label, found.answer("size"), found.answer("none")) for found in result.objects] == [
        ("half", "big", None)
    ] * 2


def test_zones_and_masks_are_for_what_an_operator_of_the_programs_own_finds(tmp_path: Path) -> None:
    left, right = ([[x, 0], [x + 0.5, 0], [x + 0.5, 1], [x, 1]] for x in (0, 0.5))
    nodes = [{"name": "halves", "task": "halves"}, {"name": "size", "task": "big", "input": "halves[zone == left]"}]
    own: Any = {"name": "own", "slo_ms": 5000, "operators": {"halves": Halves, "big": Big}, "nodes": nodes}
    zones = [{"name": "left", "polygon": left}, {"name": "right", "polygon": right}]
    (result,) = sluice.run(sluice.Query(**own, zones=zones), clip(tmp_path), limit=1)
    found = [(each.zones, each.answer("size")) for each in result.objects]
    assert found == [(["left"], "big"), (["right"], None)]
    (result,) = sluice.run(sluice.Query(**own, zones=zones, masks=[{"ignore": left}]), clip(tmp_path), limit=1)
    assert [each.zones for each in result.objects] == [["right"]]


class InPixels(sluice.Operator):
    """Says where it finds something as a program does that knows no shares."""

    async def process(
        self, frame: sluice.Frame, regions: Sequence[sluice.Region], call: sluice.Call
    ) -> list[sluice.Region]:
        return [sluice.Region(0, "ball", sluice.Box(10, 20, 110, 120), "ball", 1.0)]


def test_an_operator_whose_boxes_are_no_shares_fails_its_frames_and_says_so(tmp_path: Path) -> None:
    own = sluice.Query(name="own", slo_ms=5000, operators={"ball": InPixels}, nodes=[{"name": "ball", "task": "ball"}])
    (result,) = sluice.run(own, clip(tmp_path), limit=1)
    assert result.outcome == "failed"
    assert result.cause == "ball: ValidationError: Expected `float` <= 2.0 - at `$[0].box[0]`"


def test_a_query_file_may_name_operators_that_the_run_is_given(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text("version: 1\nname: q\nslo_ms: 500\nnodes: [{name: halves, task: halves}]\n")
    (result,) = sluice.run(file, clip(tmp_path), limit=1, operators={"halves": Halves})
    assert len(result.objects) == 2
