"""Shared memory for the pictures of calls to one server of this machine: made as needed, used again, bounded."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from serving.common.tensors import Array
from serving.errors import Malformed, Unavailable
from serving.remote.protocol import region_file
from serving.remote.protocol.owned_region import OwnedRegion, create

log = logging.getLogger(__name__)

LEAST_BYTES = 16 << 10
"""Smaller batches travel in the message: registering and reading a region takes longer."""
SMALLEST_REGION = 256 << 10
MOST_REGIONS = 32
MOST_REGION_BYTES = 256 << 20
"""All together, for one server; batches that do not fit travel in the message."""
LEAST_REST, MOST_REST = 16, 1 << 16
"""Batches that travel in messages before another region is made, where none could be; each time twice as many."""


class RegionRing:
    """Those of one server; used from one event loop."""

    def __init__(self, register: Callable[[str, int], Awaitable[bool]]) -> None:
        """``register``: makes a region known to the server, by its name and size; False where it refuses."""
        self._register = register
        self._free: list[OwnedRegion] = []
        self._all: list[OwnedRegion] = []
        self.begin_anew()

    def begin_anew(self) -> None:
        """Another server may answer from now on."""
        self._left = self._rest = 0
        """Batches until another region is made, now and after the next failure."""

    async def lend(self, batch: Array) -> OwnedRegion | None:
        """A region that begins with the batch; None where it has to travel in the message."""
        if batch.nbytes < LEAST_BYTES or not region_file.available():
            return None
        region = self._fitting(batch.nbytes) or await self._made(batch.nbytes)
        if region is None:
            return None
        try:
            region.write(0, batch)
        except (OSError, Malformed) as error:  # somebody has cut it short
            self.lose(region)
            log.warning("shared memory: %s", error)
            return None
        return region

    def give_back(self, region: OwnedRegion) -> None:
        """The call has ended: the next one may use the region."""
        if region in self._all:
            self._free.append(region)

    def lose(self, region: OwnedRegion) -> None:
        """Let go of a region, where its call was given up too: the server may read it still, and no other call may."""
        if region in self._free:
            self._free.remove(region)
        if region in self._all:
            self._all.remove(region)
            region.close()

    def close(self) -> None:
        """Take all away; the server forgets them with the connection, or when it looks for their names."""
        for region in self._all:
            region.close()
        self._all, self._free = [], []

    def _fitting(self, size: int) -> OwnedRegion | None:
        fitting = [each for each in self._free if each.size >= size]
        if not fitting:
            return None
        smallest = min(fitting, key=lambda region: region.size)
        self._free.remove(smallest)
        return smallest

    async def _made(self, size: int) -> OwnedRegion | None:
        """A new region, in place of a free one where there are many."""
        if self._left:
            self._left -= 1
            return None
        wanted = max(SMALLEST_REGION, 1 << (size - 1).bit_length())
        while self._free and not self._has_room(wanted):
            self.lose(self._free[0])
        if not self._has_room(wanted):
            return None
        try:
            region = create(wanted)
        except Unavailable as error:
            self._put_off()
            log.info("pictures travel in messages: %s", error)
            return None
        self._all.append(region)
        taken = False
        try:
            taken = await self._register(region.name, wanted)
        finally:
            if not taken:
                self.lose(region)
        if not taken:
            self._put_off()
            return None
        self._rest = 0
        return region

    def _put_off(self) -> None:
        """Make no region for a while; several that fail together count once."""
        if not self._left:
            self._left = self._rest = min(2 * self._rest or LEAST_REST, MOST_REST)

    def _has_room(self, more: int) -> bool:
        taken = sum(each.size for each in self._all)
        return len(self._all) < MOST_REGIONS and taken + more <= MOST_REGION_BYTES
