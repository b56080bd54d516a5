"""The state of a stream's cascade that survives a restart or a move to another worker."""

from __future__ import annotations

import msgspec

from learning.account import Seconds
from operators.recognise.specialised.earnings import Earnings
from specialization.weg.state import WegState


class CascadeState(msgspec.Struct):
    """The contents of ``Heads.snapshot``."""

    weg: WegState
    heads: dict[int, bytes]
    """The heads by number, as ``SpecialisedHead.to_bytes`` writes them."""
    networks: dict[str, str]
    """The templates of the heads, and what each head depends on, as ``head_identity`` tells it."""
    labels: str
    """The digest of the labels that the class numbers stand for."""
    strictness: int = 0
    earnings: Earnings = msgspec.field(default_factory=Earnings)
    seconds: Seconds = msgspec.field(default_factory=Seconds)
    """The stream's account."""
    versions: dict[int, int] = {}
    """The versions of the heads by number, where they came from elsewhere."""
