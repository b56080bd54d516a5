"""Counts who answered for the regions of a frame, for a stream's timeline. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from operators.frames.frame import Region
from operators.recognise.shortcuts.shortcut import Turn
from operators.wire.schema import Provenance, ShortcutKind


def tally(regions: Sequence[Region], turns: Mapping[ShortcutKind, Turn]) -> Counter[str]:
    """Keyword arguments of ``Timeline.counted``, for regions that all have a look as their last attribute.

    A variant, and a cache inside the oracle, count as what they stand for, the oracle.
    """
    head = turns.get("specialised")
    last = "fallback" if head is not None and head.token is not None else "oracle"
    columns: dict[Provenance, str] = {"specialised": "head", "oracle": last, "variant": last, "cached": last}
    given = Counter(region.attributes[-1].provenance for region in regions)
    found = Counter[str]()
    for provenance, column in columns.items():
        found[column] += given[provenance]
    return found
