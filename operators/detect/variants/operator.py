"""The detector of a node that lists several models: the planned one runs where it agrees with the oracle."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from operators.audits.audit_report import Audited, node_plan
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot, from_json
from operators.audits.streams import DECLINED, StreamAudits, Streams
from operators.base import Call, NodeAnswer, Operator, ask, make_ready
from operators.decision import Decision
from operators.detect.variants.audits import KIND, AuditedStream, FrameAnswer, FrameLooks, VariantAudits, VariantTerms
from operators.frames.frame import Frame, Region
from operators.wire.schema import FrameId, NodePlan
from serving.errors import BackendDown, ModelError, OutOfService

log = logging.getLogger(__name__)

ABSENT = "it is not there"
UNPAID = "its audits cannot be paid yet"


class DetectVariants:
    """Operator around a detector of whole frames that runs whichever of its models a call names."""

    def __init__(self, node: str, detector: Operator, roles: Roles, terms: VariantTerms) -> None:
        self.node = node
        self._detector, self._oracle, self._terms = detector, roles.oracle, terms
        self._identity = roles.identity
        self._keys = {model: f"{KIND} {model}" for model in roles.listed_shortcuts}
        self._streams = Streams(self._fresh)
        self._looks = FrameLooks(detector)
        self._audits = VariantAudits(node, roles.oracle, self._keys, self._looks, terms, self._announce)
        self._absent: set[str] = set()

    async def prepare(self) -> None:
        await make_ready(self._detector)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        """Return the regions that the planned model finds, or the oracle in its place."""
        stream = self._streams.enter(frame.stream)
        decision, barred = self._chosen(stream, call.decision)
        declined = dict[str, str]()
        if barred:
            declined[KIND] = "; ".join(f"{model}: {why}" for model, why in barred.items())
        found = await self._found(frame, regions, replace(call, decision=decision))
        if found is None:
            declined[KIND] = f"{decision.variant}: {ABSENT}"
            decision = replace(decision, variant=self._oracle)
            found = await self._found(frame, regions, replace(call, decision=decision))
        if found is None:
            decision, found = await self._instead(frame, regions, replace(call, decision=decision))
            declined[KIND] = f"{self._oracle}: {ABSENT}, so {decision.variant} answers, proven or not"
            return NodeAnswer(found, decision, declined)
        proving = frozenset(model for model, why in barred.items() if why != ABSENT)
        self._audits.account(stream, frame, FrameAnswer(decision.variant or self._oracle, found, proving))
        self._announce(stream)
        return NodeAnswer(found, decision, declined)

    def published(self, frame: FrameId) -> None:
        self._looks.published(frame)

    def dropped(self, frame: FrameId) -> None:
        self._looks.dropped(frame)

    def forget(self, stream: str) -> None:
        """Drop a stream; its figures stay for the report."""
        self._looks.forget(stream)
        self._streams.leave(stream)
        self._detector.forget(stream)

    async def close(self, within_s: float) -> None:
        await self._looks.close(within_s)

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        found = {name: self._plans(stream) for name, stream in self._streams.known(gone).items()}
        return {name: plans for name, plans in found.items() if plans}

    def snapshot(self, stream: str) -> bytes | None:
        known = self._streams.here(stream)
        if known is None:
            return None
        return NodeSnapshot(oracle=self._identity, audits=known.audits.states()).to_json()

    def restore(self, stream: str, data: bytes) -> None:
        found = from_json(data, self._where(stream), self._identity)
        if found is not None:
            audits = self._streams.renew(stream).audits
            audits.restore({key: found.audits[key] for key in self._keys.values() if key in found.audits})

    def _fresh(self, stream: str) -> AuditedStream:
        return AuditedStream(stream, StreamAudits(self._terms.rule))

    def _chosen(self, stream: AuditedStream, decision: Decision) -> tuple[Decision, Mapping[str, str]]:
        """The decision with the model that runs, and why others may not, which would."""
        if not decision.allows(KIND):
            return replace(decision, variant=self._oracle, ladder=()), {}
        decision = decision.chosen_for(1, partial(self._may_answer, stream))
        barred = decision.proving
        if decision.compared and decision.variant in self._keys:
            stream.audits.of(self._keys[decision.variant]).answers_at_once()
        if decision.variant in self._keys and not (decision.unproven or self._may_answer(stream, decision.variant)):
            barred |= {decision.variant}
            decision = replace(decision, variant=self._oracle, why="")
        return decision, {model: self._barred_by(stream, model) for model in sorted(barred)}

    async def _found(self, frame: Frame, regions: Sequence[Region], call: Call) -> Sequence[Region] | None:
        """Run the chosen model; None where another one may answer: a variant cannot be opened, a backend is down."""
        try:
            return (await ask(self._detector, frame, regions, call)).regions
        except ModelError as error:
            if call.model not in self._keys:
                if isinstance(error, BackendDown) and self._keys.keys() - self._absent:
                    return None
                raise
            if not isinstance(error, OutOfService):  # such a one comes back
                self._absent.add(call.model)
            log.warning("%s does not answer, others do in its place: %s", call.model, error)
            return None

    async def _instead(self, frame: Frame, regions: Sequence[Region], call: Call) -> tuple[Decision, Sequence[Region]]:
        """The backend of the oracle is down: the first listed model that can answers, proven or not."""
        for model in self._keys:
            decision = replace(call.decision, variant=model)
            found = await self._found(frame, regions, replace(call, decision=decision))
            if found is not None:
                return decision, found
        return call.decision, (await ask(self._detector, frame, regions, call)).regions  # which says why

    def _may_answer(self, stream: AuditedStream, model: str) -> bool:
        return model not in self._keys or not self._barred_by(stream, model)

    def _barred_by(self, stream: AuditedStream, model: str) -> str:
        """Return why a model may not answer; empty where it may."""
        if model in self._absent:
            return ABSENT
        phase = stream.audits.of(self._keys[model]).phase
        if phase in DECLINED:
            return DECLINED[phase]
        return "" if self._terms.budget.may_spend(self._terms.cost_s(self._oracle)) else UNPAID

    def _announce(self, stream: AuditedStream) -> None:
        """Tell of each audit that has changed its phase, once."""
        for _ in stream.audits.changes(self._where(stream.name)):
            self._terms.changed(stream.name)

    def _plans(self, stream: AuditedStream) -> list[NodePlan]:
        opened = stream.audits.opened
        return [
            node_plan(Audited(self.node, KIND, self._oracle, [model]), opened[key])
            for model, key in self._keys.items()
            if key in opened and opened[key].state.has_begun
        ]

    def _where(self, stream: str) -> str:
        return f"stream {stream}, node {self.node}"
