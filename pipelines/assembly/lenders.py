"""Which network of this machine lends its cuts to the exits of a node whose oracle is on another one. Pure."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from operators.audits.roles import Roles, is_whole
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, Entry, weights
from serving.variants.variant import parse


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
