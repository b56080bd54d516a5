"""The objects of nodes that run at the same time: none sees what another is noting on them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from operators.frames.frame import Region


class Beside:
    """The objects for one of the nodes of a group."""

    def __init__(self, regions: Sequence[Region], taken: set[int]) -> None:
        """``taken``: the objects, by ``id()``, that nodes before it in the group work on; those of this one join them.

        Copies stand for objects that are taken.
        """
        self.regions = [
            replace(each, attributes=list(each.attributes)) if id(each) in taken else each for each in regions
        ]
        self._copied = [
            (each, copy, len(copy.attributes), copy.track_id)
            for each, copy in zip(regions, self.regions, strict=True)
            if copy is not each
        ]
        taken.update(map(id, regions))

    def merge(self) -> None:
        """Note on the objects what the node has noted on the copies; called in the order of the nodes."""
        for region, copy, attributes, track_id in self._copied:
            region.attributes += copy.attributes[attributes:]
            if copy.track_id != track_id:
                region.track_id = copy.track_id
