"""The bounds of a backend: what is in flight, and how much it keeps for its clients."""

from __future__ import annotations

from dataclasses import dataclass, field

from serving.remote.protocol.limits import WireLimits

LARGEST_INPUTS = 8
"""The inputs of all requests in flight may take so many times as much as the largest one."""
FLOAT_BYTES = 4
"""A picture that comes as bytes is a network's input of so many for each of them."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """More than this is refused."""

    in_flight: int = 64
    """Requests for inference that wait or are run."""
    networks: int = 256
    """Networks and variants of them that are described and run, over the life of the backend."""
    regions: int = 512
    """Regions of shared memory; the one that was used longest ago makes room."""
    connections: int = 256
    """Over gRPC; further ones are closed at once."""
    wire: WireLimits = field(default_factory=WireLimits)

    @property
    def input_bytes(self) -> int:
        """The inputs of all networks that requests in flight may take together."""
        return LARGEST_INPUTS * FLOAT_BYTES * self.wire.message_bytes
