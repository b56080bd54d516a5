"""Keeps a live source running: watches it, kills what hangs, connects again."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from typing import Final, cast

from operators.capture import wire
from operators.capture.channel import Channel, Closed, Silent
from operators.capture.freeze import FreezeWatch
from operators.capture.picture import Picture, thumbnail
from operators.capture.reasons import PERSISTENT, Reason
from operators.capture.session import Session
from operators.frame import Image
from serving.errors import SourceError

_START_S: Final = 30.0
"""Within this, the decoder process has loaded its libraries, on a busy machine too."""
_GRACE_S: Final = 3.0
"""The process knows better than we why a source is silent: it gets this long to say so first."""
_STEADY_S: Final = 10.0
"""A connection that delivered for this long was a success: the delays start over."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a connection ended."""

    reason: Reason
    message: str
    delivered_s: float | None = None
    """From its first picture to its end; None if there was no picture."""
    finite: bool = False
    """The source is a recording: it cannot be taken up in the middle, and its end is the end."""

    @property
    def steady(self) -> bool:
        """Whether the source worked, so that this is a new trouble rather than more of the same."""
        delivered_s = self.delivered_s or 0.0
        return delivered_s >= _STEADY_S and self.reason not in ("stalled", "frozen")


class LiveReader:
    """Reads a live source until told to stop; ``interrupt`` ends a wait for a silent source at once."""

    def __init__(self, session: Session, rng: random.Random) -> None:
        self._session = session
        self._spec = session.spec
        self._rng = rng
        self._channel: Channel | None = None
        self._lock = threading.Lock()

    def read(self) -> str | None:
        """Read until the run is done or a recording ends. ``SourceError`` when it gives up."""
        attempt = 0
        last_frame_s = time.monotonic()
        while not self._session.done:
            ending = self._connection()
            if self._session.done:
                break
            if ending.delivered_s is not None:
                last_frame_s = time.monotonic()
            if ending.finite and ending.delivered_s is not None:
                return _finished(ending)
            attempt = 0 if ending.steady else attempt
            self._wait_before(attempt, ending, last_frame_s)
            attempt += 1
        return None

    def interrupt(self) -> None:
        """Let go of the source at once; call after ``session.stopped`` is set, from any thread."""
        with self._lock:
            if self._channel is not None:
                self._channel.kill()

    def _wait_before(self, attempt: int, ending: _Ending, last_frame_s: float) -> None:
        """Wait until the next attempt is due; ``SourceError`` if there is to be none."""
        delay_s = self._spec.backoff.delay_s(attempt, self._rng, persistent=ending.reason in PERSISTENT)
        if self._spec.give_up_after_s is not None:
            left_s = self._spec.give_up_after_s - (time.monotonic() - last_frame_s)
            if left_s <= 0:
                without = f"given up after {self._spec.give_up_after_s:g} s without a frame"
                raise SourceError(f"{ending.message}; {without}", ending.reason)
            delay_s = min(delay_s, left_s)
        self._session.lost()
        self._session.restarts += 1
        self._session.report("reconnecting", ending.reason, f"{ending.message}; next attempt in {delay_s:.1f} s")
        self._session.stopped.wait(delay_s)

    def _connection(self) -> _Ending:
        with Channel(self._job()) as channel:
            with self._lock:
                self._channel = channel
            try:
                if self._session.done:  # interrupt() may have come before there was a channel
                    return _Ending("ended", "stopped")
                return _Connection(self._session, channel).relay()
            finally:
                with self._lock:
                    self._channel = None

    def _job(self) -> wire.Job:
        spec = self._spec
        return wire.Job(
            uri=spec.uri.reveal(),
            mode=spec.sampling.mode,
            fps=spec.sampling.fps,
            max_width=spec.max_width,
            connect_timeout_s=spec.connect_timeout_s,
            read_timeout_s=spec.stall_timeout_s + _GRACE_S,
        )


class _Connection:
    """One decoder process's pictures on their way to the session."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self._session = session
        self._spec = session.spec
        self._channel = channel
        self._freeze = FreezeWatch(self._spec.freeze_timeout_s) if self._spec.freeze_timeout_s else None
        self._finite = False
        self._first_s: float | None = None

    def relay(self) -> _Ending:
        """Hand pictures on until the connection ends, for whatever reason."""
        timeout_s, phase = _START_S, "starting the decoder"
        while not self._session.done:
            try:
                message, image = self._channel.receive(timeout_s)
            except Silent:
                return self._silent(phase)
            except Closed as died:
                return self._ending("crashed", self._spec.uri.redact(str(died)))
            match message:
                case wire.Started():
                    timeout_s, phase = self._spec.connect_timeout_s + _GRACE_S, "connecting"
                case wire.Opened(duration_s=duration_s):
                    timeout_s, phase = self._spec.stall_timeout_s, "running"
                    self._finite = self._spec.uri.kind == "http" and duration_s is not None
                    self._session.waits = self._finite
                case wire.Failed(reason=reason, message=text):
                    return self._ending(cast(Reason, reason), text)
                case wire.Ended(message=text):
                    return self._ending("ended", text or "the source closed the stream")
                case wire.PictureFollows():
                    assert image is not None
                    if self._is_frozen(image):
                        return self._frozen()
                    self._accept(message, image)
        return self._ending("ended", "stopped")

    def _accept(self, header: wire.PictureFollows, image: Image) -> None:
        if self._first_s is None:
            self._first_s = time.monotonic()
        self._session.accept(Picture(image, header.media_time_s, header.captured_at, header.decode_ms))

    def _is_frozen(self, image: Image) -> bool:
        return self._freeze is not None and self._freeze.frozen(thumbnail(image), time.monotonic())

    def _frozen(self) -> _Ending:
        message = f"{self._spec.uri}: the picture has not changed for {self._spec.freeze_timeout_s:g} s"
        self._session.report("stalled", "frozen", message)
        return self._ending("frozen", message)

    def _silent(self, phase: str) -> _Ending:
        if phase != "running":
            return self._ending("timeout", f"{self._spec.uri}: no answer in time, {phase}")
        message = f"{self._spec.uri}: no frame for {self._spec.stall_timeout_s:g} s"
        self._session.report("stalled", "stalled", message)
        return self._ending("stalled", message)

    def _ending(self, reason: Reason, message: str) -> _Ending:
        delivered_s = None if self._first_s is None else time.monotonic() - self._first_s
        return _Ending(reason, message, delivered_s, self._finite)


def _finished(ending: _Ending) -> str:
    """What to say of a recording that was read to its end; ``SourceError`` if it broke off."""
    if ending.reason != "ended":
        raise SourceError(ending.message, ending.reason)
    return ending.message
