"""Who takes what a capture yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from operators.frames.frame import Frame
from operators.wire.schema import FrameHeader, StreamStatus

Emit = Callable[[Frame], None]
Drop = Callable[[FrameHeader], None]


def _ignore(change: FrameHeader | StreamStatus) -> None:
    """Ignore a dropped frame or a change of state, for consumers that do not follow them."""


@dataclass(frozen=True, slots=True)
class CaptureCallbacks:
    """Callbacks of one capture run.

    ``emit`` takes the frames in order and may block. A file then waits; a live source goes on, and of the frames that
    come meanwhile ``emit`` gets the newest and ``drop`` the headers of the others, so that ``seq`` stays unbroken. Both
    are called from one thread (for live sources not the one of ``Capture.run``) and must return in the end after
    ``Capture.stop``. ``status`` is called from the thread of ``Capture.run``, in the order of the changes.
    """

    emit: Emit
    status: Callable[[StreamStatus], None] = _ignore
    drop: Drop = _ignore
