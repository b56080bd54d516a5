"""A real RTSP camera for tests: ``RtspServer``, and the fixture ``rtsp_server`` that makes some."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import av
import pytest

from tests.real.ports import free_port
from tests.real.require import unavailable

PYTHON = "/usr/bin/python3"
HOW = (
    "apt-get install python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-base gstreamer1.0-plugins-good "
    "gstreamer1.0-plugins-bad"
)
_LOOPED_S = 300.0
_PROBE = "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import Gst, GstRtspServer"
_ELEMENTS = "Gst.init(None); assert all(map(Gst.ElementFactory.find, ('qtdemux', 'h264parse', 'rtph264pay')))"

MakeServer = Callable[..., "RtspServer"]


class RtspServer:
    """Serves an H.264 MP4 clip at ``uri`` on a loopback port until it is stopped; a context manager.

    ``loop`` plays the clip over and over (for five minutes) within one connection. ``start`` after ``stop`` brings the
    camera back on the same port; ``pause`` makes it hang without closing anything. Without ``rtcp`` it sends no
    reports of its clock, as simple cameras do. With ``udp`` it sends by nothing else.
    """

    def __init__(
        self,
        clip: Path,
        user: str | None = None,
        password: str | None = None,
        port: int | None = None,
        loop: bool = True,
        rtcp: bool = True,
        udp: bool = False,
    ) -> None:
        self._clip = looped(clip) if loop else contextlib.nullcontext(clip.resolve())
        self._user = user
        self._rtcp, self._udp = rtcp, udp
        self._password = password
        self.port = port or free_port()
        self._process: subprocess.Popen[str] | None = None

    @property
    def uri(self) -> str:
        """With the user and password, percent-encoded."""
        user = "" if self._user is None else f"{quote(self._user, safe='')}:{quote(self._password or '', safe='')}@"
        return f"rtsp://{user}127.0.0.1:{self.port}/camera"

    def start(self) -> None:
        """Return when the camera accepts connections."""
        config = {
            "clip": str(self._path),
            "port": self.port,
            "user": self._user,
            "password": self._password,
            "rtcp": self._rtcp,
            "udp": self._udp,
        }
        self._process = subprocess.Popen(
            [PYTHON, str(Path(__file__).with_name("rtsp_camera.py"))], stdin=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(config) + "\n")
        self._process.stdin.flush()
        deadline_s = time.monotonic() + 20
        while not self._accepts():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.stop()
                raise RuntimeError(f"the RTSP server did not start on port {self.port}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Take the camera away: its connections break."""
        if self._process is not None:
            self._process.kill()
            with self._process:
                self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Hang: connections stay open, nothing comes."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after ``pause``."""
        self._signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        self._path = self._clip.__enter__()
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()
        self._clip.__exit__(*error)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _accepts(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture
def rtsp_server() -> Iterator[MakeServer]:
    """Makes running cameras: ``rtsp_server(clip, user=…, password=…)``; they end with the test."""
    missing = why_missing()
    if missing:
        unavailable("GStreamer's RTSP server", missing, HOW)
    with contextlib.ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(RtspServer(*args, **options))


@cache
def why_missing() -> str | None:
    """Why there can be no RTSP server here; None if there can."""
    if not Path(PYTHON).exists():
        return f"no {PYTHON}"
    probe = subprocess.run([PYTHON, "-c", f"{_PROBE}; {_ELEMENTS}"], capture_output=True, text=True)
    return probe.stderr.strip().rpartition("\n")[2] if probe.returncode else None


@contextlib.contextmanager
def looped(clip: Path, until_s: float = _LOOPED_S) -> Iterator[Path]:
    """A file that repeats the clip's pictures, not decoded again, for at least ``until_s``."""
    with tempfile.TemporaryDirectory(prefix="rtsp-clip-") as folder:
        path = Path(folder) / "looped.mp4"
        with av.open(str(path), "w") as output:
            _repeat(clip, output, until_s)
        yield path


def _repeat(clip: Path, output: Any, until_s: float) -> None:
    target: Any = None
    offset = 0
    while True:
        with av.open(str(clip)) as source:
            video = source.streams.video[0]
            assert video.time_base is not None
            target = target or output.add_stream_from_template(video)
            end = 0
            first: int | None = None
            for packet in source.demux(video):
                if packet.dts is None or packet.pts is None:
                    continue
                first = packet.dts if first is None else first
                # neither presentation nor decoding may go back where the next round begins
                end = max(end, max(packet.pts, packet.dts - first) + (packet.duration or 1))
                packet.pts, packet.dts = packet.pts + offset, packet.dts + offset
                packet.stream = target
                output.mux(packet)
            offset += end
            if float(offset * video.time_base) >= until_s:
                return
