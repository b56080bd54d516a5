"""Builds the chain of shortcuts of a recognise node."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from cache_adapt.audit.state import Rule
from learning.purse import Purse
from operators.audits.unit_costs import UnitCosts
from operators.base import Operator
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from operators.recognise.account.books import Books
from operators.recognise.chain import Chain
from operators.recognise.objects.objects import Objects
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.terms import Listeners, Terms
from pipelines.assembly.head_training import HeadTraining
from pipelines.assembly.links import LinkParts, links
from pipelines.assembly.shortcuts import Shortcuts
from pipelines.query.nodes import RecogniseNode


@dataclass(frozen=True)
class Chains:
    """Makes the operators of all nodes that answer for tracks or have shortcuts."""

    shortcuts: Shortcuts
    """The registry of the operators."""
    rule: Rule
    """The rule of the audits."""
    training: HeadTraining | None = None
    """The training of heads, for nodes that specialise."""
    observer: Observer = UNOBSERVED
    purse: Purse = field(default_factory=lambda: Purse(time.process_time))
    """What finding out what can be saved may cost, of all nodes together."""

    def operator(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser) -> Operator:
        """The recogniser itself where every look is an answer and the node has no shortcut."""
        books = Books(recogniser.roles.oracle, UnitCosts(engine), self.purse)
        found = links(LinkParts(spec, engine, recogniser, self.rule, books, self._listeners(), self.training))
        objects = Objects(recogniser) if spec.answer == "track" else None
        if not found and objects is None:
            return recogniser
        chain = Chain(spec.name, found, Oracle(recogniser), Terms(self.rule, self._listeners(), books), objects)
        self.shortcuts.add(chain)
        return chain

    def _listeners(self) -> Listeners:
        return Listeners(self.changed, self.observer)

    def changed(self, stream: str) -> None:
        """Note that a phase has changed on a stream."""
        self.shortcuts.news.notify()
