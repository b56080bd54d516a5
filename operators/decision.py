"""The planner's decisions for the nodes of a frame, as plain data; handed down in a ``Call``. Pure.

A ``Decision`` is about one node of one frame, and results repeat it. How many objects a node has to look at is known
only within the node: shortcuts and earlier answers leave some of them. So a decision among several models is a ladder,
best first, with the most objects that each model has time for; the node chooses once it knows their number.

The ``NodePlan`` of ``wire/stream_plan.py`` is something else: it says how a stream stands with the shortcuts of a node,
over all frames so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from operators.wire.schema import AuditedKind, Fallback

WORDS: dict[Fallback, str] = {
    "cheapest": "the fastest answers",
    "reuse": "objects keep the answers that they have, the fastest looks at the others",
    "drop": "the fastest answers, or the frame is dropped",
}
"""The policies as a reason says them."""

HURRIED = "frames wait behind it"
FIRST_LISTED = "first listed"
"""The reason where there was nothing to choose."""


class Rung(NamedTuple):
    """A model that may run."""

    model: str
    most: int
    """The most objects that it has time for."""
    takes_s: float = 0.0
    """Seconds that it seldom exceeds for one object."""
    paid: float = inf
    """The most objects that a day's budget pays it for; infinite where none bounds it."""
    said: str = ""
    """Why it stands where it does, if that is not for its accuracy."""


class Past(NamedTuple):
    """The work of the node's detector in a recording, if it has ``when: needed``: it does so again."""

    skipped: bool
    window: Sequence[bool] = ()
    """Where frames were planned together from this one on: of each, this one first, whether it was detected."""
    until_s: float = 0.0
    """Media time of the last of them."""
    detail: int | None = None
    """The longer side of what the network was shown, where that was chosen for the stream."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision for one node and one frame."""

    variant: str | None
    """The model to run where no other shortcut answers; None for nodes without a network."""
    shortcuts: frozenset[AuditedKind] | None = None
    """Kinds of shortcuts that may answer; None: all that the node has."""
    budget_ms: float | None = None
    """Time that the node may take, so that the nodes after it can still meet the deadline; None: not limited."""
    why: str = ""
    """The reason in words."""
    hurried: bool = False
    """Whether the frame has less time than its deadline says, for the sake of those that wait behind it."""
    ladder: Sequence[Rung] = ()
    """The models to choose from, the one that is wanted most first; empty: ``variant`` is all there is."""
    fallback: Fallback = "cheapest"
    cause: Fallback | None = None
    """The policy that decided, where no model has the time."""
    proving: frozenset[str] = frozenset()
    """Models that may not answer yet, and are to be compared with the oracle, unseen."""
    past: Past | None = None
    """The work on the frame before, where it is replayed; None: the node decides."""
    objects: int | None = None
    """The number of objects that it was chosen for; None: it did not depend on that."""
    compared: bool = False
    """Whether ``variant`` agreed with the oracle elsewhere: it may answer before the stream has proven it."""
    unproven: bool = False
    """Whether ``variant`` is to answer although it may not yet: a budget pays for none of those that may."""

    def allows(self, kind: AuditedKind) -> bool:
        """Whether shortcuts of this kind may answer."""
        return self.shortcuts is None or kind in self.shortcuts

    def fits(self, objects: int, may_answer: Callable[[str], bool]) -> bool:
        """Whether some model of the ladder may answer and has time for so many objects."""
        return any(rung.most >= objects and may_answer(rung.model) for rung in self.ladder)

    def chosen_for(self, objects: int, may_answer: Callable[[str], bool]) -> Decision:
        """The decision for so many objects: the first model that may answer and has the time, else the fastest.

        Models that a budget does not pay for are passed over; where it pays for none of those that may answer, others
        do. Itself where there is nothing to choose, or it was chosen for as many.
        """
        if not self.ladder or objects == self.objects:
            return self
        allowed = [rung for rung in self.ladder if may_answer(rung.model)]
        if not allowed:
            return replace(self, objects=objects)
        barred = frozenset(rung.model for rung in self.ladder if rung not in allowed)
        paid = [rung for rung in allowed if rung.paid >= objects]
        unproven = not paid
        paid = paid or [rung for rung in self.ladder if rung.paid >= objects] or allowed[:1]
        chosen = next((rung for rung in paid if rung.most >= objects), None)
        if chosen is not None:
            why, cause = self._because(self._fit(chosen, objects)), None
        else:
            chosen = max(paid, key=lambda rung: (rung.most, -rung.takes_s))
            why, cause = self._because(f"no model has time for {objects}: {WORDS[self.fallback]}"), self.fallback
        return replace(
            self,
            variant=chosen.model,
            why=f"{why}; {chosen.said}" if chosen.said else why,
            cause=cause,
            proving=barred - {chosen.model},
            objects=objects,
            unproven=unproven and chosen.model in barred,
        )

    def _because(self, reason: str) -> str:
        return f"{HURRIED}; {reason}" if self.hurried else reason

    def _fit(self, taken: Rung, objects: int) -> str:
        """Why this one and not the one before it."""
        place = self.ladder.index(taken)
        if place and (unpaid := self.ladder[place - 1]).paid < objects:
            return f"the budget pays {unpaid.model} for {unpaid.paid:.0f} objects, {objects} to look at"
        before = [rung for rung in self.ladder[:place] if rung.most < objects]
        if objects == 1 and self.budget_ms is not None:
            takes = f"takes {1000 * taken.takes_s:.0f} of {self.budget_ms:.0f} ms"
            return f"{takes}; {before[-1].model} {1000 * before[-1].takes_s:.0f}" if before else takes
        has = f"has time for {taken.most} objects, {objects} to look at"
        return f"{has}; {before[-1].model} for {before[-1].most}" if before else has
