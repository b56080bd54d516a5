"""The words that exits of a node say, as the workers of its query and what trains elsewhere understand them alike."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from cache_adapt.learned.vocabulary import Vocabulary
from operators.wire.result import UNKNOWN
from serving.catalogue.cards import ModelCard


class NodeWords(NamedTuple):
    """The words of a node."""

    vocabulary: Vocabulary
    digest: str
    """The digest of the names and ``unknown``, in the order of their numbers."""

    @classmethod
    def of(cls, card: ModelCard, names: Sequence[str], least_confidence: float) -> NodeWords:
        """``card``: the oracle's; ``names``: as its recogniser knows them, published from ``least_confidence`` on."""
        nameless = tuple(number for number, name in enumerate(names) if name == card.other_label)
        digest = hashlib.sha256("\0".join((*names, UNKNOWN)).encode()).hexdigest()
        return cls(Vocabulary(len(names), least_confidence, nameless), digest)

    @classmethod
    def of_classes(cls, card: ModelCard, min_confidence: float | None) -> NodeWords:
        """The same where the oracle names its classes; ``min_confidence``: the query's, None: the card's."""
        names = [name for name in card.classes if name != UNKNOWN]
        return cls.of(card, names, card.min_confidence if min_confidence is None else min_confidence)
