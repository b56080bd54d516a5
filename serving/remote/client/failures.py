"""The meaning of a failed call: is the server to blame, may another one be asked, and in what words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import grpc

from serving.common.untrusted import printable

LONGEST = 300


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Why one attempt has failed."""

    said: str
    """In words, fit for a result."""
    server: bool = True
    """Whether it speaks against the server, which is asked less for it."""
    again: bool = True
    """Whether another server, or the same once more, may answer."""
    late: bool = False
    """The time that the call had is over."""
    anew: bool = False
    """The network has to be looked up anew: it may be another one, or gone."""


LOST = CallFailure("it has stopped to answer")

_SERVER = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
}


def failure(code: grpc.StatusCode, details: str | None) -> CallFailure:
    """The meaning of a status; a server that refuses what was asked is well, and would refuse it again.

    >>> failure(grpc.StatusCode.UNAVAILABLE, "connection refused").again
    True
    >>> failure(grpc.StatusCode.INVALID_ARGUMENT, "no such shape")
    CallFailure(said='no such shape', server=False, again=False, late=False, anew=True)
    """
    said = printable(" ".join((details or code.name).split()), LONGEST)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return CallFailure("it has not answered in time", again=False, late=True)
    if code in _SERVER:
        return CallFailure(said)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return CallFailure(f"it has too much to do: {said}", server=False)
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return CallFailure(f"it does not let this process in ({said}): check its token and tls", False, again=False)
    return CallFailure(said, server=False, again=False, anew=True)
