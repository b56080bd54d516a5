"""Regions of shared memory that clients of this machine have made known: each belongs to the connection that did, or
to the user of a Unix socket, whose connections cannot be told apart.

They are opened by descriptor and never mapped, and every use looks at the size that they have then. Those whose name is
gone are closed; those of ours whose owner has died lose their name.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from serving.common.tensors import Array
from serving.errors import Malformed
from serving.remote.peers import is_here
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.owned_region import sweep
from serving.remote.protocol.parameters import SharedPlace, WireLimits, checked_name
from serving.remote.protocol.region_file import RegionFile, open_region


@dataclass(frozen=True, slots=True)
class RegisteredRegion:
    """A part of a region, under the name that its owner has given it."""

    name: str
    file: RegionFile
    offset: int
    """Bytes."""
    size: int

    def at(self, place: SharedPlace) -> int:
        """Where in the file a place begins; Malformed where it is not within the part that was registered."""
        if place.offset + place.size > self.size:
            raise Malformed(
                f"region {self.name}: {self.size} bytes are registered, {place.size} from {place.offset} on are used"
            )
        return self.offset + place.offset


MOST_BYTES = 1 << 40


class RegisteredRegions:
    """Those of all clients of this machine, and the calls about them; used from one event loop."""

    def __init__(self, most: int, limits: WireLimits) -> None:
        self._most, self._limits = most, limits
        self._all: dict[tuple[str, str], RegisteredRegion] = {}
        """By connection and name, the one that was used longest ago first."""

    def of(self, peer: str) -> RegionsOfOne | None:
        """The regions of a connection; None where its client is on another machine."""
        return RegionsOfOne(self, peer) if is_here(peer) else None

    async def register(
        self, question: pb.SystemSharedMemoryRegisterRequest, peer: str
    ) -> pb.SystemSharedMemoryRegisterResponse:
        """Open a region by its key; raises Malformed for a name that is taken, and for a region that is not so large.

        Where there are too many, the one that was used longest ago is forgotten.
        """
        name = checked_name(question.name, "the name of a region", self._limits)
        offset, size = question.offset, question.byte_size
        if offset > MOST_BYTES or size > MOST_BYTES:
            raise Malformed(f"region {name}: offset and size must be at most {MOST_BYTES}")
        if (_here(peer), name) in self._all:
            raise Malformed(f"region {name}: this connection has registered one of this name already")
        file = open_region(question.key)
        if not 0 < size <= file.size - offset:
            held = file.size
            file.close()
            raise Malformed(f"region {name}: it has {held} bytes, not {size} from {offset} on")
        while len(self._all) >= self._most:
            self._forget(next(iter(self._all)))
        self._all[peer, name] = RegisteredRegion(name, file, offset, size)
        return pb.SystemSharedMemoryRegisterResponse()

    async def unregister(
        self, question: pb.SystemSharedMemoryUnregisterRequest, peer: str
    ) -> pb.SystemSharedMemoryUnregisterResponse:
        """Forget a region of this connection, or all of them where no name is given."""
        for each in self._named(question.name, peer):
            self._forget((peer, each.name))
        return pb.SystemSharedMemoryUnregisterResponse()

    async def status(
        self, question: pb.SystemSharedMemoryStatusRequest, peer: str
    ) -> pb.SystemSharedMemoryStatusResponse:
        """The regions of this connection; nobody sees those of others."""
        said = pb.SystemSharedMemoryStatusResponse()
        for each in self._named(question.name, peer):
            status = said.regions[each.name]
            status.name, status.key = each.name, f"/{each.file.name}"
            status.offset, status.byte_size = each.offset, each.size
        return said

    def used(self, peer: str, name: str) -> RegisteredRegion:
        """A region that is used now; Malformed where this connection has registered none of this name."""
        region = self._all.pop((peer, name), None)
        if region is None:
            raise Malformed(f"region {name}: this connection has not registered it, or not used it for long")
        self._all[peer, name] = region
        return region

    def sweep(self) -> None:
        """Close those whose name is gone, after those whose owner is gone have lost theirs."""
        sweep()
        for place in [place for place, region in self._all.items() if region.file.left]:
            self._forget(place)

    def close(self) -> None:
        for place in list(self._all):
            self._forget(place)

    def _named(self, name: str, peer: str) -> list[RegisteredRegion]:
        """Those of a connection, or the one of this name."""
        owner = _here(peer)
        return [each for (of, called), each in self._all.items() if of == owner and name in ("", called)]

    def _forget(self, place: tuple[str, str]) -> None:
        with suppress(OSError):
            self._all.pop(place).file.close()


@dataclass(frozen=True, slots=True)
class RegionsOfOne:
    """The regions of one connection, for its requests."""

    regions: RegisteredRegions
    peer: str

    def read(self, place: SharedPlace, into: Array) -> None:
        region = self.regions.used(self.peer, place.region)
        region.file.read(region.at(place), into)

    def write(self, place: SharedPlace, array: Array) -> None:
        """Copy an output to its place; Malformed where it does not fit."""
        if array.nbytes > place.size:
            raise Malformed(f"region {place.region}: an output of {array.nbytes} bytes does not fit {place.size}")
        region = self.regions.used(self.peer, place.region)
        region.file.write(region.at(place), array)


def _here(peer: str) -> str:
    if not is_here(peer):
        raise Malformed("shared memory is for clients of this machine")
    return peer
