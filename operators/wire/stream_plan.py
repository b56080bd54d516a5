"""The message that says who answers for a stream, and what the audits of its shortcuts found."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from operators.wire import bounds
from operators.wire.bounds import Count, Id, Label, Moment, Real, Share, Text
from operators.wire.result import AuditedKind

PLAN_SCHEMA: Final = "sluice.plan/1"
Phase = Literal["shadow", "trusted", "probation", "off"]


class Interval(msgspec.Struct, kw_only=True, frozen=True):
    """Bounds, both included."""

    low: Share
    high: Share


class Agreement(msgspec.Struct, kw_only=True, frozen=True):
    """How often a node's shortcuts say of an object what its oracle says, by the recent audits."""

    wanted: Share
    """The query's ``accuracy``."""
    found: Share | None
    """Share of the audits in which both agreed; None before the first audit."""
    audits: Count
    disagreements: Count
    unsure: Count = 0
    """Audits in which the oracle itself was not sure: they are not part of ``audits``."""
    exact: Interval
    """Clopper–Pearson interval at 95 %, valid for one look."""
    sequential: Interval
    """Interval at 95 % that is valid however often one looks; the phase follows it."""


class NamesLost(msgspec.Struct, kw_only=True, frozen=True):
    """How many of the oracle's names are lost by a shortcut, by the recent audits: agreement alone hides that."""

    found: Share
    names: Count
    """Objects that the oracle named, or would have: of those that a shortcut answered for, as audits tell."""
    lost: Count
    """Audits in which the oracle gave a name and the shortcut none, or another."""
    exact: Interval
    """Interval of ``found`` at 95 % (Clopper–Pearson, of the audits)."""


class SwitchOff(msgspec.Struct, kw_only=True, frozen=True):
    """The shortcuts of a node were switched off for a stream."""

    answers: Count
    """Objects of the stream that the node had answered for; without tracks every look is one."""
    reason: Text


SpecializationPhase = Literal["initialising", "selecting", "training", "specialised"]


class ProcessorSeconds(msgspec.Struct, kw_only=True, frozen=True):
    """The cost of looks on a stream at one node: processor seconds, all threads and children of the worker."""

    oracle: Real
    """The oracle's, for its answers."""
    shortcuts: Real
    """Those of looks through the network with exits, beyond the oracle's for its own answers."""
    avoided: Real
    """The oracle's would-be cost of the answers of exits."""
    spent: Real
    """The cost of audits, where each stream pays its own."""
    saved: Real
    """``avoided`` − ``shortcuts`` − ``spent``; below 0 where all of it has cost more than the oracle alone."""


class Specialization(msgspec.Struct, kw_only=True, frozen=True):
    """The work of specialization for a stream at one node, now and so far."""

    phase: SpecializationPhase
    """In ``specialised`` exits answer, and the oracle where they do not; else the oracle answers."""
    epoch: Count
    template: Label | None = None
    """The kind of network whose exits are in use."""
    classes: Annotated[list[Label], Meta(max_length=bounds.MOST_LISTED)] = []
    """The dominant classes that it knows."""
    oracle: Count
    """Answers of the oracle that was asked alone."""
    head: Count
    fallback: Count
    """Answers of the oracle where exits in use did not answer."""
    reused: Count
    """Earlier answers of the same track."""
    audits: Count
    special_rate: Share
    """Share of the answers given while exits were in use, reused ones left out, 0…1."""
    cascade_rate: Share | None
    """Share of ``fallback`` among these, 0…1."""
    transitions: Count
    """How often a phase became ``specialised``."""
    mean_dominant: Real | None
    """Mean number of classes of the exits that were in use."""
    mean_window: Real | None
    """Mean number of answers in the windows by which these were chosen."""
    saving: Real | None
    """``processor_s.saved`` as a share of what the oracle alone would have taken; below 0 where nothing was saved."""
    speedup: Real | None
    """The oracle's would-be cost ÷ the cost of everything together."""
    processor_s: ProcessorSeconds | None = None
    """The account; None from workers that do not keep one."""
    reason: Text | None = None
    """Why no exit answers, in one sentence, where that is known."""


class DetailPlan(msgspec.Struct, kw_only=True, frozen=True):
    """How much of each frame a detector with ``detail: auto`` is shown on a stream, and what more of it is worth."""

    width: Count
    height: Count
    """Pixels of the network's input at present."""
    widest: Count
    """The longer side of the widest that it might be shown."""
    cost: Real | None
    """The cost of a frame of late, audits included, as a multiple of the network's own input on every frame."""
    most_cost: Real
    """The query's ``detail_cost``."""
    compared: Count | None
    """The longer side with which audits compare the widest; None before the first of them."""
    agreement: Share | None
    """How far what was found with it agrees with what is found with the widest."""
    audits: Count
    """Number of these comparisons."""
    reason: Text
    """Why it is shown as much, and no more."""


class NodePlan(msgspec.Struct, kw_only=True, frozen=True):
    """Who answers for a stream at one node that lists shortcuts, and why."""

    node: Label
    kind: AuditedKind = "variant"
    """The kind of shortcut that this plan is about."""
    oracle: Label
    """The model that the others are measured against."""
    shortcuts: Annotated[list[Label], Meta(max_length=bounds.MOST_LISTED)]
    phase: Phase
    """``trusted``, ``probation``: shortcuts answer, audited seldom or often; ``off``, ``shadow``: the oracle answers,
    and in the shadow it is found out what shortcuts would have said."""
    answers: Count
    """Objects that the node answered for; without tracks every look is one."""
    shortcut_share: Share
    """Share of them that a shortcut answered for, 0…1."""
    agreement: Agreement
    names_lost: NamesLost | None = None
    """None before the first audit of an object that the oracle has named."""
    audits: Count
    """Number of audits since the beginning, including those that are forgotten."""
    unsampled: Count
    """Objects that shortcuts answered for while no audit could be taken on."""
    given_up: Count
    """Objects that were drawn for an audit that was not made."""
    switched_off: Count
    switch_offs: Annotated[list[SwitchOff], Meta(max_length=bounds.MOST_LISTED)] = []
    """The latest of them."""
    specialization: Specialization | None = None
    """The work of specialization; given if ``kind`` is ``specialised``."""
    pace: Text | None = None
    """Which frames the detector skips, in words; given if ``kind`` is ``propagated``."""
    processor_s: ProcessorSeconds | None = None
    """The cost and savings of looks at frames; given if ``kind`` is ``propagated``, once they are known."""
    reason: Text | None = None
    """Why no shortcut answers, where that is known; of a stream's own exits it is in ``specialization``."""
    detail: DetailPlan | None = None
    """Given if ``kind`` is ``propagated`` and the query says ``detail: auto``."""


class VariantSwitch(msgspec.Struct, kw_only=True, frozen=True):
    """Another model than before has come to run for most of a stream's frames at one node."""

    node: Label
    at: Moment
    """When the frame was captured at which that was so first."""
    variant: Label
    before: Label
    why: Text = ""
    """Why it ran on that frame, in words."""

    def __post_init__(self) -> None:
        bounds.check(self.at)


class StreamPlan(msgspec.Struct, kw_only=True, frozen=True):
    """How a stream is analysed at present. Topic ``plans.v1`` (compacted), key = stream."""

    schema: Literal["sluice.plan/1"] = PLAN_SCHEMA
    stream: Id
    query: Id
    at: Moment
    nodes: Annotated[list[NodePlan], Meta(max_length=4 * bounds.MOST_NODES)]
    switches: Annotated[list[VariantSwitch], Meta(max_length=bounds.MOST_LISTED)] = []
    """The latest switches between the models of nodes that list several, the oldest first."""

    def __post_init__(self) -> None:
        bounds.check(self.at)
