"""Why a stream is not running: the codes a program can act on, as published on the ``streams`` topic; and errors of
PyAV and the system as such a code and one line for people, without credentials.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import av.error

from operators.capture.sources.uri import SourceUri
from serving.errors import SourceError

Reason = Literal[
    "auth_failed",  # the camera wants another user or password
    "refused",  # nothing listens there
    "unreachable",  # no such host, no route
    "timeout",  # it accepted, then said nothing
    "not_found",  # no such file, device or path on the server
    "server_error",  # the server answered with an error of its own
    "unreadable",  # the file may not be read
    "invalid_uri",
    "empty",  # a file without bytes, a directory without images
    "corrupt",  # not a video, or damaged beyond its header
    "no_video",  # it has sound or data only
    "codec_unsupported",
    "too_large",  # more pixels than capture is willing to decode
    "decode_error",  # opened, but its pictures cannot be decoded
    "stalled",  # frames stopped coming
    "frozen",  # frames come, all the same
    "ended",  # the source closed the stream
    "crashed",  # the decoder process died
    "error",  # anything else
]

PERSISTENT: Final[frozenset[str]] = frozenset(
    {"auth_failed", "not_found", "codec_unsupported", "no_video", "too_large", "corrupt"}
)
"""Reasons that seldom pass by themselves: retried after longer delays, for cameras lock accounts that knock often."""


_CLOSED = "the connection was closed"
_BY_TYPE: tuple[tuple[type[BaseException], Reason, str], ...] = (
    (av.error.HTTPUnauthorizedError, "auth_failed", "the server wants another user name or password (401)"),
    (av.error.HTTPForbiddenError, "auth_failed", "the server does not allow this user to watch (403)"),
    (av.error.HTTPNotFoundError, "not_found", "the server knows no such path (404)"),
    (av.error.HTTPError, "server_error", "the server answered with an error"),
    (av.error.DecoderNotFoundError, "codec_unsupported", "no decoder for this codec"),
    (av.error.InvalidDataError, "corrupt", "not a video, or damaged"),
    (av.error.ProtocolNotFoundError, "invalid_uri", "this kind of address is not supported"),
    (av.error.ExitError, "timeout", "no answer in time"),
    (ConnectionRefusedError, "refused", "connection refused: nothing listens there"),
    (ConnectionError, "ended", _CLOSED),
    (TimeoutError, "timeout", "no answer in time"),
    (FileNotFoundError, "not_found", "no such file"),
    (NotADirectoryError, "not_found", "no such file"),
    (PermissionError, "unreadable", "permission denied"),
)
_BY_ERRNO: dict[int, tuple[Reason, str]] = {
    errno.EHOSTUNREACH: ("unreachable", "no route to the host"),
    errno.ENETUNREACH: ("unreachable", "no route to the host"),
    errno.ENODEV: ("not_found", "no such device"),
    errno.ENXIO: ("not_found", "no such device"),
    errno.EBUSY: ("refused", "the device is in use"),
}


@contextmanager
def explained(uri: SourceUri, timeout_s: float | None = None, *, opened: bool = False) -> Iterator[None]:
    """Turn errors that PyAV and the system raise inside into ``SourceError``.

    ``timeout_s`` is the patience that PyAV was given: when it interrupts itself, some protocols report damaged data.
    """
    started_s = time.monotonic()
    try:
        yield
    except (av.error.FFmpegError, OSError) as error:
        if timeout_s is not None and time.monotonic() - started_s >= timeout_s:
            reason, text = _classify(uri, TimeoutError(), opened)
        else:
            reason, text = _classify(uri, error, opened)
        # `from None`: PyAV's message holds the whole URI, and a traceback would print it
        raise SourceError(f"{uri}: {text}", reason) from None


def _classify(uri: SourceUri, error: Exception, opened: bool) -> tuple[Reason, str]:
    if uri.kind == "v4l2" and isinstance(error, FileNotFoundError):
        return _BY_ERRNO[errno.ENODEV]
    for kind, reason, text in _BY_TYPE:
        if isinstance(error, kind):
            return reason, text
    if isinstance(error, EOFError):
        return ("ended", _CLOSED) if uri.live else ("corrupt", "cut off before its first frame")
    number = getattr(error, "errno", None)
    if number in _BY_ERRNO:
        return _BY_ERRNO[number]
    if (
        number == errno.EIO and uri.live
    ):  # FFmpeg says so if the name does not resolve, and if the peer closed the connection
        return ("ended", _CLOSED) if opened else ("unreachable", "cannot be reached: check the host name")
    return "error", uri.redact(getattr(error, "strerror", None) or str(error) or type(error).__name__)
