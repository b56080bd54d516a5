"""Live sources through the public door, with servers that need nothing installed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, count, starmap
from pathlib import Path
from random import Random
from threading import Event
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import cv2
import pytest

from operators.capture.live import protocol, reader
from operators.capture.live.stall import StallWatch
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.capture.spec import CaptureSpec
from operators.frames.frame import Frame
from serving.common.child_process import ChildProcess, Silent
from serving.common.retrying import Backoff
from serving.errors import SourceError
from tests.operators.capture.clips import make_clip, moving
from tests.operators.capture.live import troubled_device
from tests.operators.capture.recorder import Recorder, record
from tests.operators.capture.stamped_clips import steadily, write
from tests.real.http_files import serve_files
from tests.real.ports import free_port

HEAD = b"--next\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n"
SOON = Backoff(first_s=0.1, max_s=0.2, persistent_first_s=0.1)
Respond = Callable[[BaseHTTPRequestHandler], None]


def spec(uri: str, **options: Any) -> CaptureSpec:
    return CaptureSpec(stream="gate", uri=SourceUri(uri), **{"backoff": SOON, **options})


@pytest.fixture
def http_server() -> Iterator[Callable[[Respond], str]]:
    """Starts web servers that answer GET with a function; returns their address."""
    servers = []

    def start(respond: Respond) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    respond(self)
                except OSError:
                    self.close_connection = True  # the client left

            def log_message(self, *args: object) -> None:
                """Quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return f"127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def recording(path: Path, cut_after: int | None = None) -> Respond:
    def respond(request: BaseHTTPRequestHandler) -> None:
        data = path.read_bytes()
        request.send_response(200)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data[:cut_after])

    return respond


def motion_jpeg(
    frames: int, pause_s: float = 0.04, end: bytes = b"", head: bytes = HEAD, promised_bytes: int | None = None
) -> Respond:
    """A camera that speaks multipart JPEG and closes after so many frames, with ``end`` as its last word."""

    def respond(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "multipart/x-mixed-replace; boundary=next")
        if promised_bytes is not None:
            request.send_header("Content-Length", str(promised_bytes))
        request.end_headers()
        for index in range(frames):
            jpeg = cv2.imencode(".jpg", moving(index))[1].tobytes()
            request.wfile.write(head % len(jpeg))
            request.wfile.write(jpeg + b"\r\n")
            time.sleep(pause_s)
        request.wfile.write(end)

    return respond


def test_a_camera_that_sends_more_seldom_than_a_stall_lasts_has_not_stalled(
    http_server: Callable[[Respond], str],
) -> None:
    uri = f"http://{http_server(motion_jpeg(3, pause_s=1.5))}/stream"
    with Recorder(spec(uri, stall_timeout_s=0.4)) as recorder:
        recorder.until(lambda: ("reconnecting", "ended") in recorder.states)
    assert len(recorder.frames) + len(recorder.dropped) >= 3


def test_the_first_connect_is_retried_too() -> None:
    with Recorder(spec(f"rtsp://127.0.0.1:{free_port()}/x")) as recorder:
        recorder.until(lambda: len(recorder.statuses) >= 3)
        recorder.capture.stop()
        recorder.join()
    assert recorder.states[:3] == [("starting", None), ("reconnecting", "refused"), ("reconnecting", "refused")]
    assert [status.restarts for status in recorder.statuses[:3]] == [0, 1, 2]
    assert "next attempt in" in (recorder.statuses[1].message or "")
    assert recorder.states[-1] == ("ended", None)


def test_a_server_that_never_answers(silent_port: int) -> None:
    with Recorder(spec(f"rtsp://user:secret99@127.0.0.1:{silent_port}/x", connect_timeout_s=0.5)) as recorder:
        recorder.until(lambda: ("reconnecting", "timeout") in recorder.states)
    assert "secret99" not in repr(recorder.statuses)


def test_stop_interrupts_a_source_that_hangs(silent_port: int) -> None:
    with Recorder(spec(f"rtsp://127.0.0.1:{silent_port}/x", connect_timeout_s=600)) as recorder:
        time.sleep(0.3)
        recorder.capture.stop()
        recorder.join()
    assert recorder.states == [("starting", None), ("ended", None)]


@pytest.mark.parametrize(
    ("uri", "reason"),
    [("rtsp://camera.invalid/x", "unreachable"), ("v4l2:/dev/video-none", "not_found")],
)
def test_sources_that_are_not_there(uri: str, reason: str) -> None:
    with Recorder(spec(uri)) as recorder:
        recorder.until(lambda: ("reconnecting", reason) in recorder.states)


def test_gives_up_when_told_to() -> None:
    recorder = record(spec(f"rtsp://127.0.0.1:{free_port()}/x", give_up_after_s=0.5))
    assert isinstance(recorder.error, SourceError)
    assert recorder.error.reason == "refused"
    assert recorder.states[-1] == ("failed", "refused")
    assert "given up after 0.5 s without a frame" in str(recorder.error)


def test_a_camera_that_falls_silent_is_given_up_by_its_last_picture(http_server: Callable[[Respond], str]) -> None:
    def respond(request: BaseHTTPRequestHandler) -> None:
        motion_jpeg(12)(request)
        request.rfile.read(1)  # until the other side hangs up

    uri = f"http://{http_server(respond)}/stream"
    recorder = record(spec(uri, stall_timeout_s=60.0, give_up_after_s=2.0))
    assert recorder.states[-2:] == [("stalled", "stalled"), ("failed", "stalled")]
    assert "given up after 2 s without a frame" in str(recorder.error)


@pytest.mark.parametrize(
    ("code", "reason"), [(401, "auth_failed"), (403, "auth_failed"), (404, "not_found"), (503, "server_error")]
)
def test_what_web_servers_answer(http_server: Callable[[Respond], str], code: int, reason: str) -> None:
    address = http_server(lambda request: request.send_error(code))
    with Recorder(spec(f"http://user:secret99@{address}/v.mp4?token=tok12345")) as recorder:
        recorder.until(lambda: len(recorder.statuses) > 1)
    assert recorder.states[1] == ("reconnecting", reason)
    assert "secret99" not in repr(recorder.statuses)
    assert "tok12345" not in repr(recorder.statuses)


@pytest.mark.parametrize("name", ["a.mkv", "a.ts", "a.h264"])
def test_a_recording_on_the_web_waits_for_the_consumer_and_ends(
    tmp_path: Path, http_server: Callable[[Respond], str], name: str
) -> None:
    address = http_server(recording(make_clip(tmp_path / name, frames=24)))
    recorder = record(spec(f"http://{address}/{name}"), emit=lambda frame: time.sleep(0.02))
    assert [frame.seq for frame in recorder.frames] == list(range(24))
    assert recorder.states == [("starting", None), ("running", None), ("ended", None)]


def test_a_recording_on_the_web_can_be_played_at_its_own_pace(
    tmp_path: Path, http_server: Callable[[Respond], str]
) -> None:
    address = http_server(recording(make_clip(tmp_path / "a.mkv", frames=24)))
    recorder = record(spec(f"http://{address}/a.mkv", realtime=True))
    first, last = recorder.frames[0], recorder.frames[-1]
    assert (last.captured_at - first.captured_at).total_seconds() >= last.media_time_s - first.media_time_s - 0.001


def picture(media_time_s: float = 0.0, captured_s: float = 0.0) -> tuple[protocol.PictureFollows, Any]:
    size = {"encoding": "bgr24", "width": 96, "height": 64}
    header = protocol.PictureFollows(**size, media_time_s=media_time_s, captured_s=captured_s, decode_ms=0.0)  # type: ignore[arg-type]
    return header, moving(0)


class Decoder:
    """A decoder process that says these things, and then nothing any more; ``now_s`` is the reader's time."""

    def __init__(self, said: Iterable[Any], every_s: float = 0.0) -> None:
        self.said, self.every_s, self.now_s, self.given_s = iter(said), every_s, 0.0, list[float]()

    def monotonic(self) -> float:
        return self.now_s

    def receive(self, timeout_s: float) -> Any:
        self.given_s.append(timeout_s)
        self.now_s += self.every_s
        for each in self.said:
            return each
        raise Silent

    def close(self) -> None:
        """Nothing is open."""


def run_of(uri: str, **others: Any) -> Any:
    names = ("accept", "report", "lost")
    doing = {name: Mock() for name in names}
    return SimpleNamespace(spec=spec(uri, **others), done=False, hardware=Mock(wanted="none"), stopped=Event(), **doing)


def test_what_the_consumer_takes_its_time_for_is_no_pause_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder([(protocol.Opened(finite=True), None), *[picture()] * 3, (protocol.Ended(None), None)])
    monkeypatch.setattr(reader, "time", decoder)
    run = run_of("http://camera.local/a.mkv")

    def accept(taken: object) -> None:
        decoder.now_s += 30.0

    run.accept = accept
    reader._Connection(run, cast(Any, decoder), 5.0, StallWatch(1.0)).relay()
    assert decoder.given_s[1:] == [1.0] * 4


def test_a_device_that_hangs_before_its_first_frame_is_given_up_though_packets_came_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = Decoder([(protocol.Opened(finite=False), None), (protocol.Alive(), None)], every_s=0.5)
    monkeypatch.setattr(reader, "time", decoder)
    run = run_of("rtsp://camera.local/x")
    ending = reader._Connection(run, cast(Any, decoder), 5.0, StallWatch(1.0)).relay()
    assert ending.reason == "stalled"
    run.hardware.give_up.assert_called_once_with("the decoder process hung, running")


@pytest.mark.parametrize(("sampling", "given_up_s"), [(Sampling(), 5.5), (Sampling("keyframes"), 151.0)])
def test_a_camera_that_gives_signs_of_life_and_no_frame_is_given_up_when_told_to(
    monkeypatch: pytest.MonkeyPatch, sampling: Sampling, given_up_s: float
) -> None:
    alive = chain([(protocol.Opened(finite=False), None)], [(protocol.Alive(), None)] * 300)
    decoder = Decoder(alive, every_s=0.5)
    monkeypatch.setattr(reader, "time", decoder)
    monkeypatch.setattr(reader, "Channel", lambda job: decoder)
    run = run_of("rtsp://camera.local/x", sampling=sampling, give_up_after_s=5.0)
    with pytest.raises(SourceError, match="given up after 5 s without a frame"):
        reader.LiveReader(run, Random(0)).read()
    assert decoder.now_s == given_up_s, "where key frames alone are looked at, the others are signs of life"


def test_a_live_playlist_whose_clock_has_begun_anew_is_shown_from_what_comes_after_a_pause_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once, paced = [(0.0, 0.0), (2.0, 0.1), (4.0, 0.2)], [(6.0, 2.2), (7.0, 2.3), (8.0, 4.2)]
    said = [(protocol.Opened(finite=False, bursts_from_s=1.4), None), *starmap(picture, at_once + paced)]
    decoder = Decoder(said)
    monkeypatch.setattr(reader, "time", decoder)
    run = run_of("http://camera.local/x.m3u8")
    reader._Connection(run, cast(Any, decoder), 5.0, StallWatch(1.0), seen_s=50.0).relay()
    assert [call.args[0].media_time_s for call in run.accept.call_args_list] == [6.0, 7.0, 8.0]


def test_a_recording_that_breaks_off_is_not_started_over(tmp_path: Path, http_server: Callable[[Respond], str]) -> None:
    clip = make_clip(tmp_path / "a.mkv", frames=120)
    address = http_server(recording(clip, cut_after=clip.stat().st_size // 2))
    recorder = record(spec(f"http://{address}/a.mkv"))
    assert 0 < len(recorder.frames) < 120
    assert [state for state, _ in recorder.states] == ["starting", "running", "ended"]
    assert recorder.statuses[-1].message


def test_pictures_that_cannot_be_decoded_are_told_before_the_stream_counts_as_stalled(
    http_server: Callable[[Respond], str],
) -> None:
    def respond(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "multipart/x-mixed-replace; boundary=next")
        request.end_headers()
        for number in count():
            request.wfile.write(b"--next\r\nContent-Type: image/jpeg\r\nContent-Length: 10\r\n\r\n\xff\xd8garbage!\r\n")
            time.sleep(0.1 if number > 60 else 0)  # those that it is probed by come at once

    uri = f"http://{http_server(respond)}/stream"
    with Recorder(spec(uri, connect_timeout_s=20, stall_timeout_s=15)) as recorder:
        recorder.until(lambda: len(recorder.states) > 1)
    assert recorder.states[:2] == [("starting", None), ("reconnecting", "decode_error")]


@pytest.mark.parametrize("end", [b"", b"--next--\r\n"])
def test_a_web_camera_that_goes_and_comes_back(http_server: Callable[[Respond], str], end: bytes) -> None:
    address = http_server(motion_jpeg(frames=12, end=end))
    with Recorder(spec(f"http://{address}/stream")) as recorder:
        recorder.until(lambda: recorder.states.count(("running", None)) == 3)
    assert recorder.states[:4] == [("starting", None), ("running", None), ("reconnecting", "ended"), ("running", None)]
    assert recorder.seqs == list(range(len(recorder.seqs)))
    times_s = [frame.media_time_s for frame in recorder.frames]
    assert times_s == sorted(times_s)
    assert len({frame.run for frame in recorder.frames}) == 1


def test_a_web_camera_that_promises_more_bytes_than_it_sends_is_no_recording(
    http_server: Callable[[Respond], str],
) -> None:
    address = http_server(motion_jpeg(frames=12, head=HEAD.replace(b"%d", b"%d0"), promised_bytes=10**9))
    with Recorder(spec(f"http://{address}/stream")) as recorder:
        recorder.until(lambda: recorder.states.count(("running", None)) == 3)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(HEAD.replace(b"jpeg", b"jpg"), id="another name for JPEG"),
        pytest.param(HEAD.replace(b"--next", b"next"), id="another boundary"),
        pytest.param(HEAD.replace(b"%d", b"%d0"), id="another length"),
    ],
)
def test_a_web_camera_whose_parts_are_not_as_they_say_is_followed_from_the_second_connection_on(
    http_server: Callable[[Respond], str], head: bytes
) -> None:
    address = http_server(motion_jpeg(frames=1000, head=head))
    with Recorder(spec(f"http://{address}/stream")) as recorder:
        recorder.until(lambda: len(recorder.seqs) >= 30)
    told = [state for state in recorder.states if state != ("running", None)]
    assert told == [("starting", None), ("reconnecting", "corrupt"), ("ended", None)]


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("fails", "cuda failed in mid-stream (Generic error in an external library)"),
        ("dies", "the decoder process died"),
        ("hangs", "the decoder process hung, running"),
        ("never starts", "the decoder process hung, starting the decoder"),
    ],
)
def test_a_device_in_trouble_is_replaced_by_software_for_good(
    http_server: Callable[[Respond], str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    trouble: str,
    said: str,
) -> None:
    monkeypatch.setattr(protocol, "ChildProcess", lambda _, name, **how: ChildProcess(troubled_device.__name__, name))
    monkeypatch.setattr(reader, "_START_S", 6.0 if trouble == "never starts" else 120.0)
    monkeypatch.setenv(troubled_device.TROUBLE, trouble)
    address = http_server(motion_jpeg(frames=40))
    with (
        caplog.at_level("WARNING"),
        Recorder(
            spec(f"http://{address}/stream", hwaccel="cuda", stall_timeout_s=2 if trouble == "hangs" else 60)
        ) as recorder,
    ):
        recorder.until(lambda: recorder.states.count(("running", None)) >= 2 + (trouble == "fails"))
    assert caplog.messages == [f"stream gate: decoded in software, although cuda is wanted: {said}"]
    assert recorder.seqs == list(range(len(recorder.seqs)))


def test_a_recording_on_the_web_comes_whole_though_its_device_fails(
    tmp_path: Path,
    http_server: Callable[[Respond], str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(protocol, "ChildProcess", lambda _, name, **how: ChildProcess(troubled_device.__name__, name))
    monkeypatch.setenv(troubled_device.TROUBLE, "fails")
    address = http_server(recording(make_clip(tmp_path / "a.mkv", frames=24)))
    recorder = record(spec(f"http://{address}/a.mkv", hwaccel="auto"))
    assert [frame.media_time_s for frame in recorder.frames] == pytest.approx([k / 12 for k in range(24)], abs=1e-3)
    assert recorder.states == [("starting", None), ("running", None), ("ended", None)]
    assert caplog.messages == [
        "stream gate: decoded in software, although auto is wanted: "
        "vaapi failed in mid-stream (Generic error in an external library)"
    ]


def test_stopping_is_not_held_against_the_device(
    http_server: Callable[[Respond], str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(protocol, "ChildProcess", lambda _, name, **how: ChildProcess(troubled_device.__name__, name))
    address = http_server(motion_jpeg(frames=1000))
    with Recorder(spec(f"http://{address}/stream", hwaccel="cuda")) as recorder:
        recorder.until(lambda: len(recorder.frames) > 3)
    assert recorder.states == [("starting", None), ("running", None), ("ended", None)]
    assert caplog.messages == []


def test_a_live_playlist_whose_segments_come_at_once_is_handed_on_at_its_own_pace(tmp_path: Path) -> None:
    clip = write(tmp_path / "a.ts", steadily(60))
    parts = "#EXTINF:6.0,\na.ts\n"
    files = {"/live.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:6\n{parts}".encode(), "/a.ts": clip.read_bytes()}
    with serve_files(files) as server:
        slow = spec(f"{server.url}/live.m3u8", sampling=Sampling("fps", 2))
        with Recorder(slow, emit=lambda frame: time.sleep(0.2)) as recorder:
            recorder.until(lambda: len(recorder.seqs) >= 12)
    assert recorder.dropped == []


def test_a_live_playlist_that_stands_still_shows_nothing_twice_and_goes_on_where_it_was(tmp_path: Path) -> None:
    parts = [write(tmp_path / "a.ts", steadily(10), start_s=100.0 + part).read_bytes() for part in range(5)]
    files = {f"/{part}.ts": content for part, content in enumerate(parts)}

    def publish(*shown: int) -> None:
        listed = "".join(f"#EXTINF:1.0,\n{part}.ts\n" for part in shown)
        head = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:{shown[0]}\n"
        files["/live.m3u8"] = (head + listed).encode()

    publish(0, 1, 2)
    with serve_files(files) as server, Recorder(spec(f"{server.url}/live.m3u8", stall_timeout_s=1.0)) as recorder:
        recorder.until(lambda: recorder.states.count(("reconnecting", "stalled")) >= 2)
        assert recorder.states.count(("running", None)) == 1
        first = len(recorder.seqs)
        publish(2, 3, 4)
        recorder.until(lambda: recorder.states[-1] == ("reconnecting", "stalled") and len(recorder.seqs) > first)
        assert len(recorder.seqs) == first + 20


def test_a_slow_consumer_gets_the_newest_and_the_headers_of_the_rest(http_server: Callable[[Respond], str]) -> None:
    address = http_server(motion_jpeg(frames=1000))
    with Recorder(spec(f"http://{address}/stream", limit=60), emit=lambda frame: time.sleep(1)) as recorder:
        recorder.join()
    assert recorder.seqs == list(range(60))
    assert len(recorder.dropped) > 10
    assert recorder.states[-1] == ("ended", None)


def test_what_the_consumer_raises_ends_the_run(http_server: Callable[[Respond], str]) -> None:
    def fail(frame: Frame) -> None:
        raise OSError("disk full")

    recorder = record(spec(f"http://{http_server(motion_jpeg(frames=1000))}/stream"), emit=fail)
    assert isinstance(recorder.error, OSError)
