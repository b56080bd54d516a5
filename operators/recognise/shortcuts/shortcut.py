"""The contract of a shortcut, which may answer for an object more cheaply than the oracle."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from learning.account import Seconds
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.frames.halfway import Halfway
from operators.recognise.objects.answer import ObjectAnswer
from operators.wire.adaptation import Finding
from operators.wire.schema import Attribute, FrameId, NodePlan, ShortcutKind
from serving.common.tensors import Image
from serving.engines.exits import Exits
from specialization.timeline import Timeline
from specialization.weg.state import PhaseName


@dataclass(frozen=True, slots=True)
class Overheard:
    """A region that the oracle, or the shortcut in whose network it sits, answered for, while a shortcut listened."""

    region: Region
    said: Attribute | None
    """The shortcut's would-be answer; None: none."""
    token: object
    """As that of a turn in which it had answered."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A shortcut's work for one frame; empty if the decision or the audit did not allow it."""

    answered: Sequence[Region]
    """Regions that now have the shortcut's answer as their last attribute."""
    rest: Sequence[Region]
    """Regions that are passed on to the next link of the chain."""
    token: object = None
    """The shortcut's own note of how it answered; comes back with ``learned`` and with the outcomes of audits."""
    allowed: bool = True
    """Whether the decision and the audit let the shortcut answer."""
    finished: Sequence[tuple[Region, Attribute]] = ()
    """Regions of ``rest`` whose answer came on the way, the oracle's, or that of the shortcut in whose network this one
    sits: later links and the oracle need not look at them."""
    halfway: Halfway | None = None
    """The oracle's activations of regions of ``rest``: its next run for them goes on from there."""
    overheard: Sequence[Overheard] = ()
    """All regions, where the shortcut only listened; what is ``finished`` has cost what it costs by itself then."""
    own: asyncio.Future[Sequence[Attribute]] | None = None
    """The oracle's own answers for the regions of ``answered``, where it runs on for them; fails if that run does."""
    declined: str = ""
    """Why it did not answer, where the decision asked it to; part of the result."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Both answers, where they differ, and the object."""

    shortcut: Finding
    oracle: Finding
    picture: Image
    """The object as it was looked at last; may be a view of its frame."""
    in_shadow: bool
    track_id: int | None = None
    """None: the answers are those of one look each."""


@dataclass(frozen=True, slots=True, eq=False)
class AuditOutcome:
    """The result of an audit: a shortcut's answer for an object, in shadow or service, against a sure oracle's."""

    stream: str
    kind: ShortcutKind
    agrees: bool
    label: str
    """The oracle's answer: for a tracked object, of all its looks."""
    crop: Image | None
    """The oracle's last crop for the audit; None in the shadow: there it was looked at anyway."""
    token: object
    """The token of the turn in which the shortcut answered."""
    key: str = ""
    """The shortcut's ``key``; empty: its kind."""
    evidence: Evidence | None = None
    """The words of both; None where they agree."""

    @property
    def audit(self) -> str:
        return self.key or self.kind


@dataclass(frozen=True, slots=True)
class Standing:
    """How a stream stands with a shortcut that goes through phases."""

    phase: PhaseName
    epoch: int
    template: str | None = None
    classes: tuple[str, ...] = ()
    window: int = 0
    """Number of answers by which the classes were chosen."""
    seconds: Seconds = field(default_factory=Seconds)
    """Its costs and savings."""
    reason: str | None = None
    """Why it does not answer, in one sentence, where that is known."""


class Shortcut(Protocol):
    """One link of a node's chain, shared by all streams. Only ``kind``, ``models`` and ``answer`` must be given.

    All methods are called on the event loop. Frames of one stream come in order and one at a time; frames of different
    streams concurrently. For each frame: ``answer``, then, when all regions have an answer, ``learned``, then, when the
    result has been published, ``published``. Outcomes of audits come at any time.
    """

    kind: ShortcutKind
    """The provenance of its answers."""
    models: Sequence[str]
    """The names of the models that may answer; published with the audit."""
    within: str | None = None
    """The key of the shortcut in whose network it sits: it answers only where that one may, what it does not answer is
    that one's answer, and the oracle looks at what it would have said by ``listen``, in the background."""
    releases: bool = False
    """Whether the oracle runs to its end for all regions whatever it answers: its answers come early, and save no work.
    The query has asked for what that costs."""
    follows_content: bool = True
    """Whether it learns from the stream; then it is reported from the first frame on, with a timeline."""

    @property
    def listens(self) -> bool:
        """Whether it proves itself by ``listen``, at looks that answer by themselves, and not by looks of its own."""
        return False

    def gathers(self, stream: str, looks: int, call: Call) -> bool:
        """Whether it would ``listen`` to so many looks of the oracle to learn from them; asked while it is silent."""
        return False

    @property
    def exits(self) -> Exits | None:
        """Where it answers inside the oracle; None where it answers without it, or the oracle is not cut."""
        return None

    @property
    def key(self) -> str:
        """The name of its audit, which is its alone: unique within a chain."""
        return self.kind

    async def prepare(self) -> None:
        """Load everything before the first frame; raises BadInput if that is not possible."""
        return

    def is_planned(self, call: Call) -> bool:
        """Whether the decision asks for this shortcut; its audit may still refuse it."""
        return call.decision.allows(self.kind)

    def may_prove_itself(self, call: Call) -> bool:
        """Whether it may look at the objects of the frame unseen, in the shadow."""
        return self.is_planned(call)

    @abstractmethod
    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        """Append one attribute, with ``kind`` as its provenance, to some regions, and pass the others on.

        In the shadow it is asked after ``published``, about copies of regions: it must say what it would have said.
        """
        ...

    async def listen(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn | None:
        """Note what it would have said while the network runs that it sits in; None where that cannot be now.

        That network answers at once, or goes on ``halfway``.

        Asked in the shadow, where ``listens``, and where ``gathers``. It pays from the books what listening costs
        beyond that answer.
        """
        return None

    def cost_s(self, turn: Turn) -> float:
        """Return the processor seconds of the networks that it ran for a turn; 0 as long as they are not known.

        Those for what is ``finished`` are among them; what the oracle was spared since it went on ``halfway`` is not.
        """
        return 0.0

    def learned(self, frame: Frame, turn: Turn) -> None:
        """Learn from a frame whose regions all have answers now, those of ``turn.rest`` from later links."""
        return

    def audited(self, outcome: AuditOutcome) -> None:
        """Take an outcome for an answer of this shortcut or of a later link, for a known stream."""
        return

    def concluded(self, stream: str, answer: ObjectAnswer) -> None:
        """Take what the looks at a tracked object say together; called once for each pool that the node publishes.

        It is called when the pool is sure or has all looks that are made to become sure, else when its track is over.
        """
        return

    def barred(self, stream: str) -> None:
        """Note that the audit does not let shortcuts of this kind answer any longer, for a known stream."""
        return

    def edition(self, stream: str) -> int | None:
        """Return what would answer now: a shortcut that has been exchanged has to prove itself anew; None: nothing."""
        return 0

    def published(self, frame: FrameId) -> None:
        """Note that the result of a frame has been published: background work for it may begin."""
        return

    def why_silent(self) -> str | None:
        """Return why it answers on no stream, in one sentence, where that is known."""
        return None

    def standing(self, stream: str) -> Standing | None:
        """Return the stream's present standing; None for a shortcut without phases."""
        return None

    def describe(self, plan: NodePlan, timeline: Timeline, standing: Standing) -> NodePlan:
        """Return the published plan with this kind's details; called if there is a ``standing``."""
        return plan

    def snapshot(self, stream: str) -> bytes | None:
        """Return the state that must survive a restart, as JSON; None if there is none."""
        return None

    def restore(self, stream: str, data: bytes) -> None:
        """Go on from a snapshot, before the stream's first frame; raises Malformed for damaged data."""
        return

    def forget(self, stream: str) -> None:
        """Forget a stream."""
        return

    async def close(self) -> None:
        """Give up background work."""
        return
