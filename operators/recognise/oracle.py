"""The oracle of a node: the reference network that all its other models are measured against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from serving.cards import ModelCard
from serving.variants import parse, reference


def with_oracle(models: Sequence[str], card: Callable[[str], ModelCard]) -> tuple[tuple[str, ...], str]:
    """The models of a node, its oracle among them whether listed or not, and the oracle's name.

    The oracle is the first listed model of tier ``reference`` that runs as it is (full precision, default engine), else
    the first listed model as it is. Raises ModelError for a model that is not known.
    """
    whole = [model for model in models if is_whole(model)]
    for model in whole:
        if card(model).tier == "reference":
            return tuple(models), model
    first = parse(models[0]).model
    for model in whole:
        if parse(model).model == first:
            return tuple(models), model
    return (*models, first), first


def is_whole(model: str) -> bool:
    """Whether this is the network as it is; a batch limit does not change what it says."""
    variant = parse(model)
    return variant.profiled == reference(variant.model)


def shortcuts(models: Sequence[str], oracle: str) -> frozenset[str]:
    """The models that are not the oracle under some name."""
    return frozenset(model for model in models if parse(model).profiled != parse(oracle).profiled)
