"""Makes the operators of nodes that answer for tracks or have shortcuts, with what all of them share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cache_adapt.audit.state import Rule
from learning.purse import Purse
from operators.audits.unit_costs import UnitCosts
from operators.base import Operator
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from pipelines.assembly.shortcuts import Shortcuts
from pipelines.query.nodes import RecogniseNode

if TYPE_CHECKING:
    from operators.recognise.recogniser import Recogniser
    from pipelines.assembly.head_training import HeadTraining


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
        # Brings chains of looks and their audits: not for those who only detect and track.
        from operators.recognise.account.books import Books
        from operators.recognise.terms import Listeners
        from pipelines.assembly.links import LinkParts, chain_of

        books = Books(recogniser.roles.oracle, UnitCosts(engine), self.purse)
        listeners = Listeners(self.changed, self.observer)
        chain = chain_of(LinkParts(spec, engine, recogniser, self.rule, books, listeners, self.training))
        if chain is None:
            return recogniser
        self.shortcuts.add(chain)
        return chain

    def changed(self, stream: str) -> None:
        """Note that a phase has changed on a stream."""
        self.shortcuts.news.notify()
