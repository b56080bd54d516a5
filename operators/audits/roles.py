"""The roles of a recognise node's models: the oracle, and the models that may answer in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from serving.catalogue.cards import ModelCard
from serving.variants.variant import ON, parse, reference


@dataclass(frozen=True, slots=True)
class Roles:
    """Made once for a node; raises ModelError for a model that is not known."""

    models: tuple[str, ...]
    """The listed models, with the oracle added if it is not among them."""
    oracle: str
    """The reference network that all other models are measured against."""
    shortcuts: frozenset[str]
    """The models that are not the oracle under some name."""
    stand_ins: frozenset[str] = frozenset()
    """Those of them that the query does not list: they are opened only where somebody finds that worth its cost."""
    identity: str = ""
    """The oracle's: what was found out of others beside it holds for no other."""

    @property
    def at_once(self) -> list[str]:
        """The models that are opened before the first frame."""
        return [model for model in self.models if model not in self.stand_ins]

    @property
    def listed_shortcuts(self) -> list[str]:
        """The shortcuts in the order of the list, each once."""
        return [model for model in dict.fromkeys(self.models) if model in self.shortcuts]

    @classmethod
    def of(cls, listed: Sequence[str], card: Callable[[str], ModelCard], stand_ins: Sequence[str] = ()) -> Roles:
        """Choose the oracle: the first listed model of tier ``reference``, in full precision on the default engine.

        Without such a model the first listed one is the oracle. ``stand_ins``: variants that the query does not list.
        """
        oracle = _oracle(listed, card)
        models = (*listed, *([] if oracle in listed else [oracle]), *stand_ins)
        shortcuts = frozenset(each for each in models if not _is_same(each, oracle))
        return cls(models, oracle, shortcuts, frozenset(stand_ins), card(oracle).identity)


def is_whole(model: str) -> bool:
    """Whether this is the unchanged network, wherever it is run; a batch limit does not change its answers."""
    variant = parse(model)
    return variant.profiled == reference(variant.model, variant.backend)


def _oracle(listed: Sequence[str], card: Callable[[str], ModelCard]) -> str:
    whole = [model for model in listed if is_whole(model)]
    for model in whole:
        if card(model).tier == "reference":
            return model
    first = parse(listed[0])
    there = [model for model in whole if parse(model).model == first.model]
    return there[0] if there else first.model if first.backend is None else f"{first.model}{ON}{first.backend}"


def _is_same(one: str, other: str) -> bool:
    return parse(one).profiled == parse(other).profiled
