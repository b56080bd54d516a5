"""The words that exits of a node say, as the workers of its query and what trains elsewhere understand them alike."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from cache_adapt.learned.vocabulary import Vocabulary
from operators.audits.roles import Roles, is_whole
from operators.wire.result import UNKNOWN
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, Entry, weights
from serving.variants.variant import parse


class NodeWords(NamedTuple):
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


class LendingModel(NamedTuple):
    """A network of this machine."""

    model: str
    """As the query names it."""
    entry: Entry


def lending(roles: Roles, known: Catalogue) -> LendingModel | None:
    """The smallest of a node's listed networks that are here and unchanged, by its weights; None: none is."""
    names = [model for model in roles.models if not runs_elsewhere(model) and is_whole(model)]
    found = [LendingModel(model, known.find(parse(model).model)) for model in names]
    return min(found, key=lambda each: weights(each.entry).stat().st_size, default=None)


def lent_identity(lender: ModelCard, oracle: ModelCard) -> str:
    """A digest of what exits in a lender are trained on: its activations, and the words of the oracle."""
    return hashlib.sha256(f"{lender.identity} {oracle.identity}".encode()).hexdigest()


def runs_elsewhere(model: str) -> bool:
    """Whether another machine may answer for a model."""
    return " on " in model
