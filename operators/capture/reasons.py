"""Why a stream is not running: the codes a program can act on, as published on the ``streams`` topic."""

from __future__ import annotations

from typing import Final, Literal

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
