"""The audits of a detector's models. A frame that one model answered for is looked at by another, unseen.

An audit takes outcomes that are yes or no, and two answers for one frame may agree in part. So one object is drawn of
all that either model found, and it is asked whether both found it: the probability of that is the share on which
they agree, and the bounds of the audit hold as they do for recognisers. A frame on which nobody is sure of anything
says nothing about a model: else a blind one would be trusted with an empty street.

In the shadow the oracle answers and the model looks too; in service it is the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cache_adapt.audit.audit import Audit, Ticket
from cache_adapt.audit.coin import coin
from cache_adapt.audit.state import Rule
from learning.budget import Budget
from operators.audits.streams import StreamAudits
from operators.audits.unit_costs import UnitCosts
from operators.background import Backlog, PendingLook
from operators.base import Operator
from operators.detect.agreement import opinion
from operators.detect.needed.audits import detected
from operators.detect.needed.matching import agreement
from operators.frames.frame import Frame, Region
from operators.frames.planes import Pixels
from operators.observer import UNOBSERVED, Observer
from operators.wire.adaptation import Disagreement
from operators.wire.bounds import LONGEST_MEDIA_S, limited
from operators.wire.schema import ShortcutKind

KIND: ShortcutKind = "variant"


@dataclass(frozen=True, slots=True, eq=False)
class ModelPicture:
    """A picture, and the model that is to look at it."""

    model: str
    pixels: Pixels

    @property
    def nbytes(self) -> int:
        return self.pixels.nbytes


class FrameLooks(Backlog[ModelPicture, Sequence[Region]]):
    def __init__(self, detector: Operator) -> None:
        self._detector = detector
        super().__init__(self._find, "a second model cannot look at frames for an audit")

    async def _find(self, asked: ModelPicture) -> Sequence[Region]:
        return await detected(self._detector, asked.model, asked.pixels)


@dataclass(eq=False)
class AuditedStream:
    """One stream at one node, and the audits of the models on it."""

    name: str
    audits: StreamAudits


@dataclass(frozen=True)
class VariantTerms:
    """On which terms models may answer in the oracle's place."""

    rule: Rule
    sure: float
    """The confidence from which an object counts wherever it is missing; others come and go by themselves, 0…1."""
    costs: UnitCosts
    budget: Budget
    """Pays looks that bring no answer."""
    changed: Callable[[str], None]
    """Called with a stream on which an audit has changed its phase."""
    observer: Observer = UNOBSERVED

    def cost_s(self, model: str) -> float:
        """Return the processor seconds of a look; 0 as long as they are not known."""
        return self.costs.look_s(model) or 0.0


@dataclass(frozen=True, slots=True, eq=False)
class FrameAnswer:
    """The regions of a frame, and who found them."""

    model: str
    regions: Sequence[Region]
    proving: frozenset[str]
    """Models that would have answered, had they proven themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnFrame:
    """A frame for an audit."""

    stream: AuditedStream
    audit: Audit
    ticket: Ticket | None
    """None: it was not drawn."""
    model: str
    """The one that the audit is about."""
    looks: str
    """The one that looks at the frame."""


@dataclass(frozen=True, eq=False)
class VariantAudits:
    """Draws frames, has another model look at them, and tells the audits of the outcomes."""

    node: str
    oracle: str
    keys: Mapping[str, str]
    """The keys of the audits, by the model that each is about."""
    looks: FrameLooks
    terms: VariantTerms
    on_outcome: Callable[[AuditedStream], None]
    """Called after each outcome."""

    def account(self, stream: AuditedStream, frame: Frame, answer: FrameAnswer) -> None:
        """Count who answered for a frame, and draw some frames."""
        asked = self._in_turn(stream, answer) if answer.model == self.oracle else None
        for model, key in self.keys.items():
            audit = stream.audits.of(key)
            if model == answer.model:
                ticket = audit.by_shortcut(self._coin(frame, KIND, model), self._possible(self.oracle))
                self._hold(frame, answer, _DrawnFrame(stream, audit, ticket, model, self.oracle))
                continue
            audit.by_oracle()
            if model == asked:
                ticket = self._in_shadow(audit, frame, model)
                self._hold(frame, answer, _DrawnFrame(stream, audit, ticket, model, model))

    def _in_turn(self, stream: AuditedStream, answer: FrameAnswer) -> str | None:
        """The model that has looked least of those in the shadow: else the cheapest would take all that is paid."""
        audits = {model: stream.audits.of(self.keys[model]) for model in self.keys if model in answer.proving}
        shadows = [model for model, audit in audits.items() if audit.phase == "shadow"]
        return min(shadows, key=lambda model: _looks(audits[model]), default=None)

    def _in_shadow(self, audit: Audit, frame: Frame, model: str) -> Ticket | None:
        drawn = self._coin(frame, KIND, model) < self.terms.rule.probation_rate
        return audit.in_shadow() if drawn and self._possible(model) else None

    def _hold(self, frame: Frame, answer: FrameAnswer, drawn: _DrawnFrame) -> None:
        if drawn.ticket is None:
            return
        look_s = self._look_s(drawn.looks)
        self.terms.budget.spend("audits", look_s)
        published = [replace(each) for each in answer.regions]
        compare = partial(self._compare, drawn, drawn.ticket, frame, published)
        picture, give_up = ModelPicture(drawn.looks, frame.pixels), partial(self._give_up, drawn, look_s)
        self.looks.hold(frame.header.id, [PendingLook(picture, compare, give_up)])

    def _compare(
        self, drawn: _DrawnFrame, ticket: Ticket, frame: Frame, published: Sequence[Region], found: Sequence[Region]
    ) -> None:
        """One object is drawn; its place is a share of all, 0…1."""
        sure, place = self.terms.sure, self._coin(frame, "object", drawn.model)
        seen = any(each.confidence >= sure for each in [*published, *found])
        agrees = place < agreement(published, found, sure) if seen else None
        drawn.audit.tell(ticket, agrees)
        if agrees is False:
            by_oracle = found if drawn.looks == self.oracle else published
            by_model = published if drawn.looks == self.oracle else found
            self.terms.observer.audit_disagreed(self._disagreement(drawn, frame, by_model, by_oracle), frame.image)
        self.on_outcome(drawn.stream)

    def _disagreement(
        self, drawn: _DrawnFrame, frame: Frame, by_model: Sequence[Region], by_oracle: Sequence[Region]
    ) -> Disagreement:
        return Disagreement(
            stream=frame.stream,
            node=self.node,
            kind=KIND,
            media_time_s=limited(frame.media_time_s, -LONGEST_MEDIA_S, LONGEST_MEDIA_S),
            in_shadow=drawn.looks != self.oracle,
            shortcut=opinion(drawn.model, by_model),
            oracle=opinion(self.oracle, by_oracle),
        )

    def _give_up(self, drawn: _DrawnFrame, paid_s: float) -> None:
        self.terms.budget.spend("audits", -paid_s)
        drawn.audit.give_up()

    def _possible(self, model: str) -> bool:
        return self.looks.has_room and self.terms.budget.may_spend(self._look_s(model))

    def _look_s(self, model: str) -> float:
        """Processor seconds of a look; before a model's first as many as the oracle takes."""
        return self.terms.cost_s(model) or self.terms.cost_s(self.oracle)

    def _coin(self, frame: Frame, what: str, model: str) -> float:
        return coin(self.node, what, model, frame.stream, frame.run, frame.seq)


def _looks(audit: Audit) -> int:
    return audit.state.audits + audit.state.unsure + audit.state.given_up
