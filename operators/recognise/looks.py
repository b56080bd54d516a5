"""The looks at the objects of a frame: by the network that is chosen among those that a node lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from cache_adapt.audit.state import Rule
from learning.budget import Budget, unlimited
from operators.audits.streams import DECLINED
from operators.audits.unit_costs import UnitCosts
from operators.base import Call
from operators.decision import Decision
from operators.frames.frame import Frame, Region
from operators.observer import UNOBSERVED, Observer
from operators.recognise.audits.auditor import Auditor
from operators.recognise.audits.crossings import Crossings
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.trial import AuditedLook
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.kinds import ExitKind, SharedExits, SpecialisedExits
from operators.recognise.exits.lent_cuts import LentCuts
from operators.recognise.exits.lent_looks import LentLooks
from operators.recognise.exits.node_exits import NodeExits
from operators.recognise.objects.late_looks import LateLooks, NotLooked
from operators.recognise.objects.objects import Objects
from operators.recognise.recogniser import Recogniser
from operators.recognise.variants import VariantShortcut
from serving.errors import BackendDown

UNPAID = "its audits may cost nothing"

Shortcut = VariantShortcut | ExitKind
"""May answer in the oracle's place: its audit has its ``key``, its answers have the provenance ``kind``."""


@dataclass(frozen=True)
class ChainNetworks:
    """The networks of a node, and what exits its oracle may have."""

    recogniser: Recogniser
    costs: UnitCosts
    variants: Sequence[VariantShortcut] = ()
    cut: CutOracle | None = None
    """None: the oracle has no exits."""
    specialised: SpecialisedExits | None = None
    """Exits of single streams; they are asked first."""
    shared: SharedExits | None = None
    """Exits of all streams together."""
    late: LateLooks | None = None
    """The oracle is elsewhere: its looks come when they can."""
    crossings: Crossings | None = None
    """None: all networks are here."""
    stands_in: Callable[[], str | None] = lambda: None
    """The proven variant that answers in place of exits at this moment, on streams that have not switched it off."""

    @property
    def kinds(self) -> Sequence[ExitKind]:
        found: list[ExitKind] = [] if self.specialised is None else [self.specialised]
        return found if self.shared is None else [*found, self.shared]


@dataclass(frozen=True, slots=True)
class ChainTerms:
    """The terms of a chain."""

    rule: Rule
    """The audits' demands."""
    budget: Budget = field(default_factory=unlimited)
    """The process's, for learning and audits."""
    changed: Callable[[str], None] = lambda stream: None
    """Called with a stream on which the phase of an audit has changed."""
    observer: Observer = UNOBSERVED


class Looked(NamedTuple):
    """How looks were made."""

    decision: Decision
    """As it was carried out."""
    declined: Mapping[str, str]
    missing: Sequence[Region] = ()
    """Those without a look: it comes later, or has failed."""


def without(regions: Sequence[Region], missing: Sequence[Region]) -> Sequence[Region]:
    """Those of the regions that are not missing."""
    return regions if not missing else [each for each in regions if not any(each is other for other in missing)]


class Looks:
    """Makes the looks of one node, and has them audited."""

    def __init__(
        self, networks: ChainNetworks, exits: NodeExits | None, auditor: Auditor, objects: Objects | None
    ) -> None:
        self._networks, self._auditor, self._objects = networks, auditor, objects
        self._exits, self._through = exits, exits and _through(exits, networks)
        self._variants = {each.model: each for each in networks.variants}

    async def at(self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call) -> Looked:
        """Append a look to every region, of which there is one at least."""
        decision = self._chosen(stream, len(regions), call.decision)
        declined = dict(self.declined(stream, decision))
        call = replace(call, decision=decision)
        chosen = self._variants.get(call.model or "")
        if chosen is not None and decision.compared:
            stream.audits.of(chosen.key).answers_at_once()
        may_answer = chosen is not None and (decision.unproven or self._may_answer(stream, chosen.model))
        if chosen is not None and not (may_answer and chosen.proves_itself(call)):
            declined |= {"variant": self._barred_by(stream, chosen.model)} if call.decision.allows("variant") else {}
            chosen, decision = None, replace(decision, variant=self._oracle_of(call)[0], why="")
        if chosen is not None and await chosen.answer(frame, regions, call):
            looks = [AuditedLook(frame, each, each.attributes[-1], None) for each in regions]
            self._auditor.asks(stream, chosen.key, looks, self._networks.recogniser.roles.oracle)
            self._auditor.silent(stream, {chosen.key}, len(regions))
            return Looked(decision, declined)
        if chosen is not None:
            declined["variant"] = f"{chosen.model} is not there"
        asked = set[str]()
        try:
            not_looked = await self._by_oracle(stream, frame, regions, call, declined, asked)
        except BackendDown as error:
            not_looked = NotLooked.down(regions, error)
        variant = await self._in_its_place(frame, not_looked, call, declined)
        if variant is not None and len(not_looked.failed) == len(regions):
            return Looked(replace(decision, variant=variant.model), declined)
        missing = not_looked.late if variant is not None else not_looked.regions
        looked = without(regions, missing)
        asked |= self._in_shadow(stream, frame, looked, call)
        self._auditor.silent(stream, asked, len(looked))
        return Looked(decision, declined, missing)

    def urgent(self, stream: NodeStream, due: Sequence[Region], decision: Decision) -> tuple[list[Region], Decision]:
        """Those of the regions that are due which cannot wait, where no network has time for all of them."""
        may_answer = partial(self._may_answer, stream)
        objects = self._objects
        fits = decision.fallback != "reuse" or not decision.ladder or decision.fits(len(due), may_answer)
        if fits or objects is None:
            return list(due), decision
        kept = [region for region in due if not objects.can_wait(stream.name, region)]
        decision = self._chosen(stream, len(due), decision)
        wait = len(due) - len(kept)
        return kept, replace(decision, why=f"{decision.why}: {wait} of {len(due)} wait", ladder=(), objects=len(kept))

    async def _by_oracle(
        self,
        stream: NodeStream,
        frame: Frame,
        regions: Sequence[Region],
        call: Call,
        declined: dict[str, str],
        asked: set[str],
    ) -> NotLooked:
        """The oracle looks, through its exits where it has some; notes what was declined and who was asked."""
        networks, (model, why) = self._networks, self._oracle_of(call)
        declined |= why
        exits, through = self._exits, self._through
        mine = replace(call, decision=replace(call.decision, variant=model))
        plan, found, looked = None, NotLooked(), None
        if exits is not None and model == networks.recogniser.roles.oracle:
            declined |= exits.declined(stream, call)
            found, regions = await self._asked_before(frame, regions, mine)
            plan = exits.plan(stream, frame, regions, mine) if regions and not self.stood_in_by(stream) else None
        if plan is not None and through is not None:
            looked = await through.look(stream, frame, regions, mine, plan)
            asked |= plan.asked if looked is not None else set()
        if looked is None:
            looked = await self._by_oracle_alone(frame, regions, mine)
            if exits is not None:
                exits.by_oracle(stream, len(regions) - len(looked.regions))
        return found.and_also(looked)

    async def _asked_before(
        self, frame: Frame, regions: Sequence[Region], call: Call
    ) -> tuple[NotLooked, Sequence[Region]]:
        """Objects of which an oracle elsewhere was asked before wait for its answer; returns the others too."""
        late = self._networks.late
        asked = [] if late is None else [each for each in regions if late.is_asked(frame, each)]
        if late is None or not asked:
            return NotLooked(), regions
        return await late.look(frame, asked, call), without(regions, asked)

    async def _by_oracle_alone(self, frame: Frame, regions: Sequence[Region], call: Call) -> NotLooked:
        if self._networks.late is not None:
            return await self._networks.late.look(frame, regions, call)
        await self._networks.recogniser.look(frame, regions, call)
        return NotLooked()

    async def _in_its_place(
        self, frame: Frame, not_looked: NotLooked, call: Call, declined: dict[str, str]
    ) -> VariantShortcut | None:
        """Have a variant look where the oracle has failed, proven or not; returns the one that does."""
        if not not_looked.failed:
            return None
        declined["variant"] = not_looked.reason
        for variant in self._networks.variants:
            if variant.is_there and await variant.answer(frame, not_looked.failed, call):
                if not_looked.error is not None:
                    declined["variant"] = f"{variant.model} answers, proven or not: {not_looked.reason}"
                return variant
        if not_looked.error is not None:
            raise not_looked.error
        return None

    def stood_in_by(self, stream: NodeStream) -> str | None:
        """The proven variant that answers on a stream, or will soon: exits would learn in vain."""
        found = self._variants.get(self._networks.stands_in() or "")
        if found is None or not found.is_there:
            return None
        audit = stream.audits.of(found.key)
        return found.model if audit.uses_shortcut or not audit.state.switched_off else None

    def why_silent(self, stream: NodeStream) -> str | None:
        """Why no exits of a stream are asked, in one sentence; None: they may be."""
        stand_in = self.stood_in_by(stream)
        return None if stand_in is None else f"exits are not used: {stand_in} stands in"

    def _in_shadow(self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call) -> set[str]:
        """Have variants look that prove themselves, at what the oracle has answered; returns their keys."""
        answered = [each for each in regions if each.attributes[-1].provenance == "oracle"]
        looks = [AuditedLook(frame, each, None, each.attributes[-1]) for each in answered]
        asked = set[str]()
        for variant in self._networks.variants:
            if stream.audits.of(variant.key).phase == "shadow" and variant.proves_itself(call):
                self._auditor.asks(stream, variant.key, looks, variant.model)
                self._auditor.unheard(stream, variant.key, len(regions) - len(looks))
                asked.add(variant.key)
        return asked

    def _chosen(self, stream: NodeStream, objects: int, decision: Decision) -> Decision:
        """Choose for so many objects; without several networks there is nothing to choose."""
        return decision.chosen_for(objects, partial(self._may_answer, stream))

    def declined(self, stream: NodeStream, decision: Decision) -> Mapping[str, str]:
        """Why networks that the decision would rather have run do not."""
        if not decision.proving:
            return {}
        reasons = (f"{model}: {self._barred_by(stream, model)}" for model in sorted(decision.proving))
        return {"variant": "; ".join(reasons)}

    def _barred_by(self, stream: NodeStream, model: str) -> str:
        variant = self._variants[model]
        phase = stream.audits.of(variant.key).phase
        return DECLINED.get(phase, UNPAID) if variant.is_there else "it is not there"

    def _may_answer(self, stream: NodeStream, model: str) -> bool:
        variant = self._variants.get(model)
        if variant is None:
            return True
        trusted = stream.audits.of(variant.key).uses_shortcut
        return variant.is_there and trusted and self._auditor.can_ever_pay

    def _oracle_of(self, call: Call) -> tuple[str, dict[str, str]]:
        """The oracle by the name in the decision, if that names the oracle; and what is declined."""
        roles, model = self._networks.recogniser.roles, call.model
        if model is None or model in roles.shortcuts:
            return roles.oracle, {}
        if model not in roles.models:
            return roles.oracle, {"variant": f"{model} is not a model of this node"}
        return model, {}


def _through(exits: NodeExits, networks: ChainNetworks) -> NodeExits | LentLooks:
    """How looks go through the exits: they leave, or run on, in one network, or cross to another machine."""
    if isinstance(networks.cut, LentCuts):
        return LentLooks(exits, networks.cut, networks.recogniser, networks.late)
    return exits
