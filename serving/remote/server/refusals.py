"""Why a call is not answered, as the protocol's clients are told: a status, and one short line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from serving.common.redaction import redact
from serving.common.untrusted import printable
from serving.errors import Malformed, ModelError, OutOfService, SluiceError, TooLate, Unavailable

LONGEST = 400
"""Characters of the line."""
Status = Literal[
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "DEADLINE_EXCEEDED",
    "UNAVAILABLE",
    "INTERNAL",
]
HTTP: dict[Status, int] = {
    "INVALID_ARGUMENT": 400,
    "NOT_FOUND": 404,
    "FAILED_PRECONDITION": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""The same over HTTP."""


class NotServed(ModelError):
    """The backend has no network of this name, or not in this version."""


class BackendFull(SluiceError):
    """As much is in flight as the backend takes."""


STATUSES: Sequence[tuple[type[SluiceError], Status]] = (
    (Malformed, "INVALID_ARGUMENT"),
    (NotServed, "NOT_FOUND"),
    (BackendFull, "RESOURCE_EXHAUSTED"),
    (TooLate, "DEADLINE_EXCEEDED"),
    (OutOfService, "UNAVAILABLE"),  # another backend may have it
    (Unavailable, "UNAVAILABLE"),
    (ModelError, "FAILED_PRECONDITION"),
    (SluiceError, "INTERNAL"),
)
"""That of the first kind of error which one is of."""


def refusal(error: SluiceError) -> tuple[Status, str]:
    """The status of a call that failed so, and the line for its client.

    >>> refusal(BackendFull("64 requests are in flight"))
    ('RESOURCE_EXHAUSTED', '64 requests are in flight')
    """
    line = printable(redact(" ".join(str(error).split())), LONGEST)
    return next(status for kind, status in STATUSES if isinstance(error, kind)), line
