from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from operators.capture.live import protocol as wire
from operators.capture.live.protocol import Channel
from operators.frames.planes import bgr
from serving.common.child_process import Closed, Silent
from tests.operators.capture.clips import make_clip, moving

PASSWORD = "hunter2hunter2"


def job(uri: Path | str) -> wire.DecodeJob:
    return wire.DecodeJob(
        uri=str(uri), mode="all", fps=None, max_width=None, connect_timeout_s=20, read_timeout_s=20, hwaccel="none"
    )


def test_pictures_come_whole(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", frames=5)
    with closing(Channel(job(clip))) as channel:
        received = [channel.receive(30) for _ in range(8)]
    kinds = [type(message) for message, _ in received]
    assert kinds == [wire.Started, wire.Opened, *[wire.PictureFollows] * 5, wire.Ended]
    for index, (_, pixels) in enumerate(received[2:7]):
        assert pixels is not None
        assert abs(bgr(pixels).astype(int) - moving(index)).mean() < 5


def test_a_device_that_does_not_decode_is_told_and_software_goes_on(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mkv", frames=5, codec="ffv1")
    with closing(Channel(msgspec.structs.replace(job(clip), hwaccel="cuda"))) as channel:
        received = [channel.receive(30)[0] for _ in range(9)]
    (told,) = [message for message in received if isinstance(message, wire.InSoftware)]
    assert told.why.startswith(("cuda cannot be opened (", "cuda does not decode ffv1"))
    assert [type(message) for message in received if message != told] == [
        *(wire.Started, wire.Opened),
        *[wire.PictureFollows] * 5,
        wire.Ended,
    ]


def test_a_source_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with closing(Channel(job(tmp_path / "none.mp4"))) as channel:
        channel.receive(30)
        message, _ = channel.receive(30)
    assert message == wire.SourceFailed("not_found", f"{tmp_path}/none.mp4: no such file")


def test_silence_and_death_are_told_apart(silent_port: int) -> None:
    with closing(Channel(job(f"rtsp://127.0.0.1:{silent_port}/x"))) as channel:
        channel.receive(30)
        with pytest.raises(Silent):
            channel.receive(0.2)
        os.kill(channel.pid, signal.SIGSEGV)
        with pytest.raises(Closed, match="signal 11"):
            channel.receive(30)
    assert not Path(f"/proc/{channel.pid}").exists()


def test_the_last_words_of_a_process_that_fails() -> None:
    broken = msgspec.structs.replace(job("x"), mode="fps", fps=-1)
    with closing(Channel(broken)) as channel:
        channel.receive(30)
        with pytest.raises(Closed, match=r"exit status 1\) ValueError: fps must be"):
            channel.receive(30)


def test_credentials_are_in_no_argument_and_no_variable(silent_port: int) -> None:
    with closing(Channel(job(f"rtsp://user:{PASSWORD}@127.0.0.1:{silent_port}/x"))) as channel:
        channel.receive(30)
        for name in ("cmdline", "environ"):
            assert PASSWORD.encode() not in Path(f"/proc/{channel.pid}/{name}").read_bytes()


def test_the_process_dies_with_its_parent(silent_port: int) -> None:
    source = f"rtsp://127.0.0.1:{silent_port}/x"
    script = (
        "import time; from tests.operators.capture.live.test_channel import *\n"
        f"with closing(Channel(job({source!r}))) as channel:\n"
        "    channel.receive(30); print(channel.pid, flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        decoder = Path(f"/proc/{int(parent.stdout.readline())}")
        assert decoder.exists()
        parent.kill()
    deadline_s = time.monotonic() + 120
    while decoder.exists() and "zombie" not in (decoder / "status").read_text():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
