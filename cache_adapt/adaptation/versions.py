"""Versions of an artefact: they only ascend, each is known by its hash, and each is better than the one before. Pure.

A version is the second in which it was made, or one more than the last: so it also ascends over a restart that has
forgotten everything, and nobody can take a number from which there is no way up.
"""

from __future__ import annotations

import hashlib
from typing import Literal

AHEAD_S = 3600
"""A version may be so many seconds ahead of a reader's clock."""

LEAST_HELD = 20
"""Fewest samples held back that may decide for an exchange. Workers go on with the version in use until they have heard
that the new one spares much more (``heard_exits``)."""

Refusal = Literal["stale", "from the future", "damaged", "too large"]

LARGEST_BYTES = 1 << 20
"""The largest artefact; exits take some hundred kilobytes."""


def digest(data: bytes) -> str:
    """The SHA-256 of an artefact, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def next_version(last: int, now_s: float) -> int:
    """The version after ``last`` (0: there was none); ``now_s``: seconds since 1970.

    >>> next_version(0, 1000.5), next_version(1000, 1000.9), next_version(2000, 1000.0)
    (1000, 1001, 2001)
    """
    return max(last + 1, int(now_s))


def why_refused(data: bytes, sha256: str, version: int, known: int, now_s: float) -> Refusal | None:
    """Why an artefact is not taken in place of version ``known``; None where it is."""
    if version <= known:
        return "stale"
    if version > now_s + AHEAD_S:
        return "from the future"
    if len(data) > LARGEST_BYTES:
        return "too large"
    return None if digest(data) == sha256 else "damaged"


def why_not_published(data: bytes, new: float, current: float | None, held: int) -> str | None:
    """Why a new artefact is not published; None where it is. ``held``: number of samples that both were judged by.

    ``new``, ``current``: their worth on these; ``current`` is None where there is no version in use.
    """
    if len(data) > LARGEST_BYTES:
        return f"it takes {len(data)} bytes, more than {LARGEST_BYTES}"
    if current is None:
        return None
    if held < LEAST_HELD:
        return f"{held} samples that were held back are too few to exchange the version in use"
    if new > current:
        return None
    return f"by {held} samples that were held back it is worth {new:.0%}, the version in use {current:.0%}"
