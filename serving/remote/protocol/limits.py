"""The bounds of what is read from another machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireLimits:
    """More than this is refused, by a client and by a backend alike."""

    message_bytes: int = 64 << 20
    """A message, and all tensors of a message together wherever they lie; gRPC's own limit is 4 MB."""
    tensors: int = 16
    """In a message."""
    dims: int = 8
    """Axes of a tensor."""
    parameters: int = 32
    """That a message or a tensor has."""
    text: int = 512
    """Characters of a name, or of a parameter's text."""
    card_bytes: int = 1 << 20
    """A card, as JSON."""
