"""Chance without a generator: a number that depends on who an answer is, not on what it says or when it was given."""

from __future__ import annotations

from hashlib import blake2b


def coin(*identity: str | int) -> float:
    """Uniform in [0, 1), the same for the same identity.

    A frame that is analysed twice is so audited twice or never, and no order of events can favour an answer.
    """
    name = "\0".join(map(str, identity)).encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big") / 2**64
