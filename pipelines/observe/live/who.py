"""Who answered for an object: one word, by which the page colours it. Pure."""

from __future__ import annotations

from typing import Literal, get_args

from operators.wire.schema import Object, Provenance

Who = Literal["oracle", "variant", "specialised", "cached", "track", "detector", "propagated"]
WHO: tuple[Who, ...] = get_args(Who)
"""In the order of the page's legend."""
_OF: dict[Provenance, Who] = {
    "oracle": "oracle",
    "variant": "variant",
    "specialised": "specialised",
    "cached": "cached",
    "track": "track",
    "reused": "track",
}


def who(found: Object) -> Who:
    """Who looked at the object in this frame for its last answer; without answers, where its box comes from."""
    if not found.attributes:
        return found.detection.provenance
    said = found.attributes[-1]
    return _OF[said.looked if said.provenance == "track" and said.looked is not None else said.provenance]
