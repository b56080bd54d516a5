"""A stream's own exits, as they survive a restart or a move to another worker: JSON, decoded strictly."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Annotated

import msgspec
from msgspec import Meta

from learning.saved import Count, Share
from operators.recognise.exits.account import ExitAccount
from specialization.weg.state import WegState

MOST_EXITS, MOST_ARTEFACT_BYTES = 8, 512 << 10


class SavedExits(msgspec.Struct):
    """The exits that were in use."""

    number: Count
    thresholds: Annotated[list[Share], Meta(max_length=MOST_EXITS)]
    """One for each exit of the artefact; 0: it is not asked."""
    spared: Share
    """Share of the network's work that they were expected to spare."""


class SpecialisedState(msgspec.Struct):
    """All that is known of one stream."""

    weg: WegState
    account: ExitAccount
    identity: str
    """The oracle's: other weights have other activations."""
    labels: str
    """The digest of the oracle's words: where they have changed, as after an identity was enrolled, nothing holds."""
    version: Count = 0
    artefact: Annotated[bytes, Meta(max_length=MOST_ARTEFACT_BYTES)] = b""
    """The exits that are in use, else the newest; empty: none have come."""
    in_use: SavedExits | None = None
    """None: nothing of the stream's own answers."""

    def knows_only(self, words: int) -> bool:
        """Whether all that it tells of is among so many words, and the classes of each head are ascending."""
        weg = self.weg
        heads = [head.target.classes for head in (*weg.known, weg.head, weg.wanted) if head is not None]
        ascending = all(one < other for classes in heads for one, other in pairwise(classes))
        return ascending and all(0 <= each < words for each in chain(weg.answers, weg.previous, *heads))
