"""One object's answer, as shortcuts and the audit hear of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from operators.recognise.objects.pool import Belief
from operators.wire.schema import Provenance


@dataclass(frozen=True, slots=True)
class ObjectAnswer:
    """The conclusion of one pool."""

    track_id: int
    belief: Belief
    looks: int
    """Number of looks that were pooled."""
    sure: bool
    """Whether the posterior is high enough to stop looking; else the looks are used up, or the track is over."""
    looked: Mapping[Provenance, int]
    """Looks by who made them."""
