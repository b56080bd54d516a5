"""Tracks that go on where a recording's analysis was broken off. Pure.

A tracker that begins in the lead-in finds the objects anew, under ids of its own. The durable results of the same
frames say which ids they had: where both have a box at one place, it is one track, and its new results get the old id.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from operators.wire.schema import Object, Result
from operators.zones.geometry import overlap
from pipelines.run.jobs.past import PastFrame, PastObject

LEAST_OVERLAP = 0.5
"""Intersection over union of boxes of one object: the same network has seen the same pixels."""


class SameTracks:
    """Takes the results of a resumed run one by one."""

    def __init__(self, past: Sequence[PastFrame]) -> None:
        self._past = {each.seq: each for each in past}
        self._last = max(self._past, default=-1)
        self._ids: dict[int, int] = {}

    def of(self, result: Result) -> Result | None:
        """The result with the old ids of its tracks; None for one that is durable already."""
        if result.seq <= self._last:
            if (known := self._past.get(result.seq)) is not None:
                self._learn(result.objects, known.objects)
            return None
        if not self._ids.keys() & {each.track_id for each in result.objects}:
            return result
        return msgspec.structs.replace(result, objects=[self._renamed(each) for each in result.objects])

    def _learn(self, fresh: Sequence[Object], known: Sequence[PastObject]) -> None:
        """The latest frame decides; in a frame every id is given once, the best pair first."""
        pairs = [
            (overlap(each.box, old.box), each.track_id, old.track_id)
            for each in fresh
            for old in known
            if each.track_id is not None and each.label == old.label
        ]
        taken: set[int] = set()
        given: set[int] = set()
        for share, new, old in sorted(pairs, reverse=True):
            if share >= LEAST_OVERLAP and new not in given and old not in taken:
                self._ids = {id_: before for id_, before in self._ids.items() if before != old}
                self._ids[new] = old
                given.add(new)
                taken.add(old)

    def _renamed(self, found: Object) -> Object:
        old = None if found.track_id is None else self._ids.get(found.track_id)
        return found if old is None else msgspec.structs.replace(found, track_id=old)
