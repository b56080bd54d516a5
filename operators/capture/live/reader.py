"""Keeps a live source running: watches it, kills what hangs, connects again."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from math import inf
from typing import Final, cast

from operators.capture.live import protocol as wire
from operators.capture.live.protocol import Channel
from operators.capture.live.stall import LONGEST_S, StallWatch
from operators.capture.picture import FreezeWatch, Picture, samples
from operators.capture.run import CaptureRun
from operators.capture.sources.failures import PERSISTENT, Reason
from operators.frames.planes import Pixels
from serving.common.child_process import Closed, Silent
from serving.errors import SourceError

_STARTING: Final = "starting the decoder"
_START_S: Final = 30.0
"""The time within which the decoder process loads its libraries, even on a busy machine."""
_GRACE_S: Final = 3.0
"""Extra time in which the decoder process may say itself why a source is silent."""
_LEAST_S: Final = 1.0
"""The shortest time that an attempt to connect is given."""
_STEADY_S: Final = 10.0
"""After a connection that delivered for this long the delays start over."""
_REPEATED_S: Final = 60.0
"""A live playlist begins with segments that may have been read before. A clock that is further back has begun anew."""
_AT_ONCE_S: Final = 1.0
"""Those come without a longer pause. What comes after one is new, be its clock as far back as it likes."""


@dataclass(frozen=True, slots=True)
class _Ending:
    reason: Reason
    message: str
    first_s: float | None = None
    last_s: float = 0.0
    """When its first picture came, None if there was none, and its last sign of life."""
    finite: bool = False
    """Whether the source is a recording, which cannot be resumed in the middle and is not reopened at its end."""
    seen_s: float = -inf
    """How far a playlist was read, on its own clock."""

    @property
    def steady(self) -> bool:
        """Whether the source had worked, so that this is a new failure."""
        return self.first_s is not None and self.last_s - self.first_s >= _STEADY_S and self.reason != "frozen"


class LiveReader:
    """Reads a live source until told to stop; ``interrupt`` ends a wait for a silent source at once."""

    def __init__(self, run: CaptureRun, rng: random.Random) -> None:
        self._run = run
        self._spec = run.spec
        self._rng = rng
        self._stalls = StallWatch(run.spec.stall_timeout_s, run.spec.give_up_after_s)
        self._jpegs = False
        """Whether its pictures are looked for, whatever stands between them."""
        self._seen_s = -inf
        self._channel: Channel | None = None
        self._lock = threading.Lock()

    def read(self) -> str | None:
        """Read until the run is done or a recording ends. ``SourceError`` when it gives up."""
        attempt = 0
        last_frame_s = time.monotonic()
        while not self._run.done:
            ending = self._connection(self._patience_s(last_frame_s), last_frame_s)
            self._seen_s = ending.seen_s
            if self._run.done:
                break
            if ending.first_s is not None:
                last_frame_s = ending.last_s
            if ending.finite and ending.first_s is not None:
                return _finished(ending)
            if self._spec.uri.kind == "http" and ending.reason == "corrupt":
                self._jpegs = not self._jpegs  # it may be multipart JPEG whose parts are not as they say
            attempt = 0 if ending.steady else attempt
            self._wait_before(attempt, ending, last_frame_s)
            attempt += 1
        return None

    def interrupt(self) -> None:
        """Release the source at once; call after ``run.stopped`` is set, from any thread."""
        with self._lock:
            if self._channel is not None:
                self._channel.kill()

    def _wait_before(self, attempt: int, ending: _Ending, last_frame_s: float) -> None:
        """Wait until the next attempt is due; ``SourceError`` if there is to be none."""
        delay_s = self._spec.backoff.delay_s(
            attempt, self._rng, persistent=ending.reason in PERSISTENT and not self._jpegs
        )
        if self._spec.give_up_after_s is not None:
            remaining_s = self._spec.give_up_after_s - (time.monotonic() - last_frame_s)
            if remaining_s <= 0:
                without = f"given up after {self._spec.give_up_after_s:g} s without a frame"
                raise SourceError(f"{ending.message}; {without}", ending.reason)
            delay_s = min(delay_s, remaining_s)
        self._run.lost()
        self._run.restarts += 1
        self._run.report("reconnecting", ending.reason, f"{ending.message}; next attempt in {delay_s:.1f} s")
        self._run.stopped.wait(delay_s)

    def _patience_s(self, last_frame_s: float) -> float:
        """Return how long the next attempt may take to connect: little longer than until the stream is given up."""
        given_s = self._spec.connect_timeout_s
        if self._spec.give_up_after_s is None:
            return given_s
        remaining_s = self._spec.give_up_after_s - (time.monotonic() - last_frame_s)
        return min(given_s, max(remaining_s, _LEAST_S))

    def _connection(self, connect_timeout_s: float, last_frame_s: float) -> _Ending:
        with closing(Channel(self._job(connect_timeout_s))) as channel:
            with self._lock:
                self._channel = channel
            try:
                if self._run.done:  # interrupt() may have come before there was a channel
                    return _Ending("ended", "stopped")
                skips = self._spec.sampling.mode == "keyframes"  # signs of life are its other frames then
                until_s = inf if skips else last_frame_s + (self._spec.give_up_after_s or inf)
                return _Connection(self._run, channel, connect_timeout_s, self._stalls, self._seen_s, until_s).relay()
            finally:
                with self._lock:
                    self._channel = None

    def _job(self, connect_timeout_s: float) -> wire.DecodeJob:
        spec = self._spec
        return wire.DecodeJob(
            uri=spec.uri.reveal(),
            mode=spec.sampling.mode,
            fps=spec.sampling.fps,
            max_width=spec.max_width,
            connect_timeout_s=connect_timeout_s,
            read_timeout_s=max(spec.stall_timeout_s, LONGEST_S) + _GRACE_S,
            hwaccel=self._run.hardware.wanted,
            jpegs=self._jpegs,
        )


class _Connection:
    """One decoder process's pictures on their way to the run."""

    def __init__(
        self,
        run: CaptureRun,
        channel: Channel,
        connect_timeout_s: float,
        stalls: StallWatch,
        seen_s: float = -inf,
        until_s: float = inf,
    ) -> None:
        """``seen_s``: how far a playlist was read before, on its own clock; ``until_s``: until when a source that gives
        signs of life and no frame is waited for."""
        self._run = run
        self._spec = run.spec
        self._stalls = stalls
        stalls.connected()
        self._connect_timeout_s = connect_timeout_s
        self._channel = channel
        self._freeze = FreezeWatch(self._spec.freeze_timeout_s) if self._spec.freeze_timeout_s else None
        self._finite = False
        self._first_s: float | None = None
        self._last_s = 0.0
        self._begins_s: float | None = None
        self._seen_s, self._until_s = seen_s, until_s
        self._captured_s: float | None = None
        """When the latest picture was, handed on or not."""

    def relay(self) -> _Ending:
        """Hand pictures on until the connection ends, for whatever reason."""
        timeout_s, phase = _START_S, _STARTING
        while not self._run.done:
            try:
                message, pixels = self._channel.receive(timeout_s)
            except Silent:
                return self._silent(phase)
            except Closed as died:
                if not self._run.done:
                    self._run.hardware.give_up("the decoder process died")
                return self._ending("crashed", self._spec.uri.redact(str(died)))
            match message:
                case wire.InSoftware(why=why):
                    self._run.hardware.give_up(why)
                case wire.Started():
                    timeout_s, phase = self._connect_timeout_s + _GRACE_S, "connecting"
                case wire.Opened(finite=finite, bursts_from_s=begins_s):
                    timeout_s, phase, self._begins_s = self._stalls.timeout_s, "running", begins_s
                    self._finite = finite and self._spec.uri.kind == "http"
                    self._run.waits, self._run.paced = self._finite, begins_s is not None or self._spec.realtime
                case wire.SourceFailed(reason=reason, message=text):
                    return self._ending(cast(Reason, reason), text)
                case wire.Ended(message=text):
                    return self._ending("ended", text or "the source closed the stream")
                case wire.Alive():
                    timeout_s = self._alive()
                    if self._first_s is None and self._last_s > self._until_s:
                        return self._silent(phase)
                case wire.PictureFollows():
                    assert pixels is not None
                    timeout_s = self._alive()
                    if self._freeze is not None and self._freeze.frozen(samples(pixels), time.monotonic()):
                        return self._frozen()
                    if not self._repeats(message):
                        self._accept(message, pixels)
                    self._captured_s = message.captured_s
        return self._ending("ended", "stopped")

    def _alive(self) -> float:
        """Note a sign of life; returns how long to wait for the next."""
        self._last_s = time.monotonic()
        self._stalls.alive(self._last_s)
        return self._stalls.timeout_s

    def _repeats(self, header: wire.PictureFollows) -> bool:
        """Whether a playlist's picture was handed on before the connection was lost."""
        if self._begins_s is None:
            return False
        stamp_s = self._begins_s + header.media_time_s
        at_once = self._captured_s is None or header.captured_s - self._captured_s < _AT_ONCE_S
        repeated = at_once and stamp_s <= self._seen_s < stamp_s + _REPEATED_S
        self._seen_s = self._seen_s if repeated else stamp_s
        return repeated

    def _accept(self, header: wire.PictureFollows, pixels: Pixels) -> None:
        if self._first_s is None:
            self._first_s = self._last_s
        self._run.accept(Picture(pixels, header.media_time_s, header.captured_s, header.decode_ms))
        self._stalls.waited(time.monotonic())

    def _frozen(self) -> _Ending:
        message = f"{self._spec.uri}: the picture has not changed for {self._spec.freeze_timeout_s:g} s"
        self._run.report("stalled", "frozen", message)
        return self._ending("frozen", message)

    def _silent(self, phase: str) -> _Ending:
        if phase == _STARTING or (phase == "running" and self._captured_s is None):
            self._run.hardware.give_up(f"the decoder process hung, {phase}")
        if phase != "running":
            return self._ending("timeout", f"{self._spec.uri}: no answer in time, {phase}")
        message = f"{self._spec.uri}: no frame for {self._stalls.timeout_s:.3g} s"
        self._stalls.stalled()
        self._run.report("stalled", "stalled", message)
        return self._ending("stalled", message)

    def _ending(self, reason: Reason, message: str) -> _Ending:
        return _Ending(reason, message, self._first_s, self._last_s, self._finite, self._seen_s)


def _finished(ending: _Ending) -> str:
    """Return a note on a recording that was read to its end; raises ``SourceError`` if it broke off."""
    if ending.reason != "ended":
        raise SourceError(ending.message, ending.reason)
    return ending.message
