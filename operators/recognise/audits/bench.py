"""The parts that the audits of a node share: who is asked, where questions wait, and who hears of the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache_adapt.audit.audit import Ticket
from operators.background import Backlog
from operators.base import Call
from operators.frames.frame import Frame
from operators.recognise.account.books import Books
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.shadow import Shadow
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import AuditOutcome, Shortcut, Turn
from operators.wire.schema import Attribute
from serving.common.tensors import Image

OnOutcome = Callable[[NodeStream, AuditOutcome], None]
"""Called with the stream as it was when the object was answered for."""

Turns = Sequence[tuple[Shortcut, Turn]]
"""The turn of each link of the chain for a frame."""


@dataclass(frozen=True)
class Bench:
    """One for a node."""

    node: str
    oracle: Oracle
    backlog: Backlog[Image, Attribute]
    """Crops that wait for the oracle."""
    shadow: Shadow
    """Frames that wait for shortcuts."""
    on_outcome: OnOutcome
    books: Books
    """The cost of looks, and the purse that pays those that bring no answer."""

    def can_audit(self, kept: int = 0) -> bool:
        """Whether another object may be drawn: there is room, and it can be paid with ``kept`` further audits."""
        return self.backlog.has_room and self.books.purse.may_spend((kept + 1) * self.books.oracle_s)

    def reserve(self) -> float | None:
        """Set aside what a look of the oracle costs that only proves something; None where that cannot be paid.

        What one audit costs stays in the purse, as in ``can_shadow``.
        """
        cost_s = self.books.oracle_s
        return cost_s if self.can_audit(kept=1) and self.books.purse.reserve(cost_s) else None

    def can_shadow(self, frame: Frame, link: Shortcut) -> bool:
        """Whether a shortcut may look at objects of the frame unseen: there is room, and it can be paid.

        What one audit costs stays in the purse: without it, a shortcut that has proved itself may not answer.
        """
        kept_s = self.shadow.look_s(link) + self.books.oracle_s
        return self.shadow.has_room(frame) and self.books.purse.may_spend(kept_s)

    def looked_again(self, stream: NodeStream, reserved_s: float = 0.0) -> None:
        """Note a look of the oracle for an audit, for which so much was set aside."""
        stream.looked_again()
        self.books.of(stream.name).pay("audits", reserved_s, self.books.oracle_s)

    def gave_up(self, reserved_s: float) -> None:
        """Note that the look will not be made."""
        self.books.purse.pay("audits", reserved_s, 0.0)

    def tell(self, stream: NodeStream, ticket: Ticket, outcome: AuditOutcome) -> None:
        """Tell the audit, then the listeners."""
        stream.audits.of(outcome.audit).tell(ticket, outcome.agrees)
        self.on_outcome(stream, outcome)


def is_in_shadow(stream: NodeStream, link: Shortcut, call: Call) -> bool:
    """Whether a shortcut that is planned for the frame has to prove itself, and has something to say at present."""
    in_shadow = stream.audits.of(link.key).phase == "shadow"
    wanted = link.may_prove_itself(call) and stream.trusts(link.within)
    return in_shadow and wanted and link.edition(stream.name) is not None
