"""The calls about shared memory: for clients of this machine, each with the regions of its own connection."""

from __future__ import annotations

from serving.errors import Malformed
from serving.remote.peers import is_here
from serving.remote.protocol import inference_pb2 as pb
from serving.remote.protocol.limits import WireLimits
from serving.remote.protocol.parameters import checked_name
from serving.remote.server.registered_regions import RegionsOfOne, RegisteredRegions

MOST_BYTES = 1 << 40


class RegionCalls:
    """Used from one event loop."""

    def __init__(self, regions: RegisteredRegions, limits: WireLimits) -> None:
        self._regions, self._limits = regions, limits

    def of(self, peer: str) -> RegionsOfOne | None:
        """The regions of a connection; None where its client is on another machine."""
        return RegionsOfOne(self._regions, peer) if is_here(peer) else None

    async def register(
        self, question: pb.SystemSharedMemoryRegisterRequest, peer: str
    ) -> pb.SystemSharedMemoryRegisterResponse:
        """Make a region known; Malformed where it is not as the client says."""
        owner = _here(peer)
        name = checked_name(question.name, "the name of a region", self._limits)
        if question.offset > MOST_BYTES or question.byte_size > MOST_BYTES:
            raise Malformed(f"region {name}: offset and size must be at most {MOST_BYTES}")
        self._regions.register(owner, name, question.key, question.offset, question.byte_size)
        return pb.SystemSharedMemoryRegisterResponse()

    async def unregister(
        self, question: pb.SystemSharedMemoryUnregisterRequest, peer: str
    ) -> pb.SystemSharedMemoryUnregisterResponse:
        """Forget a region of this connection, or all of them where no name is given."""
        self._regions.unregister(_here(peer), question.name)
        return pb.SystemSharedMemoryUnregisterResponse()

    async def status(
        self, question: pb.SystemSharedMemoryStatusRequest, peer: str
    ) -> pb.SystemSharedMemoryStatusResponse:
        """The regions of this connection; nobody sees those of others."""
        said = pb.SystemSharedMemoryStatusResponse()
        for each in self._regions.of(_here(peer), question.name):
            status = said.regions[each.name]
            status.name, status.key = each.name, f"/{each.file.name}"
            status.offset, status.byte_size = each.offset, each.size
        return said


def _here(peer: str) -> str:
    if not is_here(peer):
        raise Malformed("shared memory is for clients of this machine")
    return peer
