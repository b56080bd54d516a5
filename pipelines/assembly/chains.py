"""Builds the chain of shortcuts of a recognise node."""

from __future__ import annotations

from dataclasses import dataclass

from cache_adapt.audit.state import Rule
from operators.base import Operator
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from operators.recognise.chain import Chain
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.reuse import Reuse, one_epoch
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import Variant
from operators.recognise.specialised.heads import Heads
from pipelines.assembly.head_training import HeadTraining
from pipelines.assembly.shortcuts import Shortcuts
from pipelines.query.nodes import RecogniseNode


@dataclass(frozen=True)
class Chains:
    """Makes the operators of all nodes that have shortcuts."""

    shortcuts: Shortcuts
    """The registry of the operators."""
    rule: Rule
    """The rule of the audits."""
    training: HeadTraining | None = None
    """The training of heads, for nodes that specialise."""
    observer: Observer = UNOBSERVED

    def operator(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser) -> Operator:
        """The recogniser itself where the node has no shortcut."""
        links = self._links(spec, engine, recogniser)
        if not links:
            return recogniser
        chain = Chain(spec.name, links, Oracle(recogniser), self.rule, self._changed, self.observer)
        self.shortcuts.add(chain)
        return chain

    def _links(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser) -> list[Shortcut]:
        """Return the links in the order in which they are asked; a new kind is one more line."""
        heads = self._heads(spec, engine, recogniser) if spec.specialize else None
        epoch, sure = heads.epoch if heads else one_epoch, recogniser.sure(recogniser.roles.oracle)
        links: list[Shortcut | None] = [
            Reuse(spec.reuse_s, sure, epoch) if spec.reuse_s else None,
            heads,
            Variant(recogniser) if recogniser.roles.shortcuts else None,
        ]
        return [link for link in links if link is not None]

    def _heads(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser) -> Heads:
        assert self.training is not None
        supply = self.training.supply(spec, engine, recogniser, self.rule)
        return Heads(spec.name, recogniser, supply, self._changed, self.observer)

    def _changed(self, stream: str) -> None:
        self.shortcuts.news.notify()
