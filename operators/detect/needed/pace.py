"""How many frames may be skipped between detections: as many as audits allow. Pure.

A skipped frame is audited by chance: the detector runs on it afterwards. The *deficit* of an audit, 0…1, is how far the
published objects agree less with the detector than the detector does with itself one frame earlier. The deficits of one
pace are a sum of bounded terms, for which the interval of ``cache_adapt/audit/confidence.py`` holds as it does for
disagreements that are 0 or 1: r^d ≤ 1 + d (r - 1) for 0 ≤ d ≤ 1 and r > 0, since r^d is convex in d.

**Credit.** Every audit adds the deficit that is tolerated to the credit of a stream and takes away the one that it
finds; what exceeds ``MOST_CREDIT`` is lost. A pace that has used it up gives way to the next smaller one and rests,
twice as long each time; the stream has full credit again. A pace at which audits tolerate one deficit more than they
found, and twice as many as they found, gives way to the next larger one, at which they may double: the credit stays as
it is. So over any stretch between two uses of it audits find at most ``MOST_CREDIT`` + 1 deficits more than they
tolerate. Which frames are audited is chance, and the deficits that are found are therefore, in expectation, those of
all skipped frames, each counted with the probability of its audit, whatever the content does and whenever one stops to
look (Doob's optional stopping): what is published keeps to the same bound.

**Proof.** A pace whose mean deficit is proven to be within the tolerance is audited more seldom.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from cache_adapt.audit.confidence import against
from operators.audits.snapshot import versioned
from operators.wire.bounds import Label, Share
from serving.common.untrusted import printable

log = logging.getLogger(__name__)

PACES = (1, 2, 3, 4, 6, 8)
"""The detector runs on every n-th frame at least, where something moves; at 1 nothing is skipped."""
FIRST = PACES.index(3)
RATE, PROBATION_RATE = 0.01, 0.05
"""Share of skipped frames that are audited, once the pace is proven and before. An audit runs the detector once, or
twice where it disagrees and has not just run on the frame before."""
ERROR = 0.05
"""Probability that a pace is ever proven wrongly to be within the tolerance."""
MOST_CREDIT = 4.0
"""Deficits beyond the tolerated ones for which a stream is good, at first and at most."""
FIRST_REST, LONGEST_REST = 2_000, 64_000
"""Frames for which a pace that was too large is not tried again; doubled each time."""
MEMORY = 20.0
"""So many tolerated deficits are remembered: older audits leave, so that a good past does not hide a bad present."""


MOST_FAILURES = 1000
"""Failures of a pace that are handed on; the rest is at its longest after a few."""
MOST_AUDITS = 2**53
Sum = Annotated[float, Meta(ge=0, le=1e15)]


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """The pace of a stream as it was learnt, as plain data. Lists have an entry for each pace."""

    step: Annotated[int, Meta(ge=0, lt=len(PACES))]
    """The place of the pace in ``PACES``."""
    proven: bool
    weight: Sum
    deficits: Sum
    audits: Annotated[int, Meta(ge=0, le=MOST_AUDITS)]
    failures: Annotated[
        list[Annotated[int, Meta(ge=0, le=MOST_FAILURES)]], Meta(min_length=len(PACES), max_length=len(PACES))
    ]
    rests: Annotated[
        list[Annotated[int, Meta(ge=0, le=LONGEST_REST)]], Meta(min_length=len(PACES), max_length=len(PACES))
    ]
    """Frames for which each pace is not tried again."""
    credit: Annotated[float, Meta(gt=0, le=MOST_CREDIT)] = MOST_CREDIT
    """Deficits beyond the tolerated ones for which the stream is still good."""


@dataclass
class PaceAudits:
    """Audits of one pace: the number that was to be expected, and the sum of their deficits."""

    weight: float = 0.0
    deficits: float = 0.0
    audits: int = 0


class SkipPace:
    def __init__(self, tolerance: float) -> None:
        """``tolerance``: mean deficit that is allowed, 0…1; 0 allows for no skipping."""
        self.tolerance = tolerance
        self.evidence = PaceAudits()
        self._step = FIRST if tolerance > 0 else 0
        self._proven = False
        self._credit = MOST_CREDIT
        self._unclaimed = 0.0
        self._frames = 0
        self._failures = [0] * len(PACES)
        self._resting_until = [0] * len(PACES)

    @classmethod
    def after(cls, tolerance: float, learnt: Learnt) -> SkipPace:
        """Go on with what was learnt under the same tolerance.

        Skipped frames that no audit stands for are forgotten.
        """
        pace = cls(tolerance)
        pace.evidence = PaceAudits(learnt.weight, learnt.deficits, learnt.audits)
        pace._step, pace._proven, pace._credit = learnt.step, learnt.proven, learnt.credit
        pace._failures, pace._resting_until = list(learnt.failures), list(learnt.rests)
        return pace

    @property
    def learnt(self) -> Learnt:
        """The state for a worker that goes on with the stream."""
        return Learnt(
            step=self._step,
            proven=self._proven,
            weight=self.evidence.weight,
            deficits=self.evidence.deficits,
            audits=min(self.evidence.audits, MOST_AUDITS),
            failures=[min(failures, MOST_FAILURES) for failures in self._failures],
            rests=[max(0, until - self._frames) for until in self._resting_until],
            credit=self._credit,
        )

    @property
    def every(self) -> int:
        """The detector runs on every n-th frame at least."""
        return PACES[self._step]

    @property
    def proven(self) -> bool:
        """Whether audits have shown that this pace is within the tolerance."""
        return self._proven

    @property
    def slowed(self) -> int:
        """Number of times that a pace was found to skip too much."""
        return sum(self._failures)

    def frame(self) -> None:
        """Count a frame; a stream on which nothing may be skipped tries again after a rest."""
        self._frames += 1
        if self._step == 0 and self.tolerance > 0 and self._frames >= self._resting_until[1]:
            self._enter(1)

    def skipped(self, coin: float, possible: bool = True) -> float | None:
        """Count a skipped frame; returns the weight of its audit if it is to be audited.

        ``coin``: uniform in [0, 1), independent of the frame. ``possible``: whether there is room for an audit.
        """
        if not possible:
            return None
        rate = RATE if self._proven else PROBATION_RATE
        self._unclaimed += rate
        if coin >= rate:
            return None
        weight, self._unclaimed = self._unclaimed, 0.0
        return weight

    def tell(self, every: int, weight: float, deficit: float) -> None:
        """Take an audit, of a frame that was skipped at the pace ``every``; one of another pace is ignored."""
        if every != self.every:
            return
        evidence = self.evidence
        evidence.weight += weight
        evidence.deficits += deficit
        evidence.audits += 1
        self._credit = min(self._credit + self.tolerance * weight - deficit, MOST_CREDIT)
        if self._credit <= 0:
            self._give_way()
        else:
            self._judge()

    def _give_way(self) -> None:
        self._failures[self._step] += 1
        rest = min(FIRST_REST << (self._failures[self._step] - 1), LONGEST_REST)
        self._resting_until[self._step], self._credit = self._frames + rest, MOST_CREDIT
        self._enter(self._step - 1)

    def _judge(self) -> None:
        found, larger = self.evidence, self._step + 1
        allowed = self.tolerance * found.weight
        if found.deficits < allowed and against(found.deficits, allowed, ERROR):
            self._proven = True
        promising = allowed >= found.deficits + max(1.0, found.deficits)
        if promising and larger < len(PACES) and self._frames >= self._resting_until[larger]:
            self._enter(larger)
        elif allowed >= MEMORY:
            self.evidence = PaceAudits(found.weight / 2, found.deficits / 2, found.audits)

    def _enter(self, step: int) -> None:
        self._step, self._proven, self.evidence, self._unclaimed = step, False, PaceAudits(), 0.0


VERSION = 1
LARGEST_BYTES = 4096
"""Largest snapshot, with every field as long as it may be."""


class PaceSnapshot(msgspec.Struct, kw_only=True, frozen=True):
    """The pace that was learnt, and under which conditions it holds."""

    version: int = VERSION
    model: Label
    """The detector that audits asked."""
    accuracy: Share
    """The query's."""
    learnt: Learnt


def to_json(learnt: Learnt, model: str, accuracy: float) -> bytes:
    """Encode what was learnt; some hundred bytes."""
    return msgspec.json.encode(PaceSnapshot(model=model, accuracy=accuracy, learnt=learnt))


def from_json(data: bytes, model: str, accuracy: float, where: str) -> Learnt | None:
    """Decode what ``to_json`` wrote for this detector and accuracy; anything else is logged, and None is returned."""
    found = versioned(data, PaceSnapshot, VERSION, where, LARGEST_BYTES)
    if found is None:
        return None
    if (found.model, found.accuracy) != (model, accuracy):
        known = printable(found.model), found.accuracy
        log.info("%s: the pace was learnt for %s at accuracy %g and begins anew", where, *known)
        return None
    return found.learnt
