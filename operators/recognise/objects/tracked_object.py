"""When one object is looked at, and when its looks are those of another one. Pure.

A look is made until the pool is sure, or holds as many looks as are worth making; then the answer is checked at growing
intervals, and where the box suggests another object. The first look at the whole object drops those at a part of it,
and a part is not looked at once the whole was seen. A box that has grown manifold holds more than what was seen, and
the pool begins anew. Looks that contradict the answer are followed by others, soon;
enough of them in a row that say the same begin the pool anew.
"""

from __future__ import annotations

from operators.frames.frame import Box
from operators.recognise.objects.look_rule import LOOK_RULE, LookRule
from operators.recognise.objects.pool import Belief, Look, Pool
from operators.recognise.objects.sight import BoxMotion, cut_off
from operators.wire.schema import Attribute


class TrackedObject:
    """The looks at the object of one track."""

    def __init__(self, box: Box, at_s: float, words: int, rule: LookRule = LOOK_RULE) -> None:
        """``words``: how many a look may say."""
        self._rule, self._words = rule, words
        self._motion = BoxMotion(box, at_s)
        self._cut_off, self._whole = cut_off(box), False
        self._due_s = self._looked_s = at_s
        self._gap_s = self._area = self._looked_area = 0.0
        self._small = self._large = False
        self._contradictions: list[Look] = []
        self.pool: Pool | None = None
        self.belief: Belief | None = None
        self.concluded = self.outgrown = False
        """Whether the pool's conclusion was published to shortcuts, set by the caller; whether its looks were at a part
        of what the box holds now, so that the next one begins it anew."""
        self.published: Attribute | None = None
        """The answer that results give; set by the caller."""
        self.seen_s = at_s

    def is_due(self, box: Box, at_s: float, moved: bool = False) -> bool:
        """Take the object's box in a frame; returns whether the object should be looked at in it.

        ``moved``: the box was not found in this frame, but moved into it.
        """
        grows = self._grows(box.area)
        jumps, shrinks = self._motion.jumps(box, at_s, self._rule.jumped), self._shrinks(box.area)
        was_cut_off, self._cut_off = self._cut_off, cut_off(box)
        self.seen_s = at_s
        if grows and at_s >= self._looked_s + self._rule.look_every_s:
            self.outgrown = True
        if self.pool is None or self.outgrown:
            return True
        if self._cut_off:
            if self._whole:
                return False  # a part tells less than is known
        elif not self._whole:
            self._due_s = min(self._due_s, at_s)
        elif (jumps or shrinks) and not was_cut_off:
            self._due_s = min(self._due_s, self._looked_s + self._rule.doubt_every_s)
        return at_s >= self._due_s + (self._rule.detected_s if moved else 0.0)

    def _grows(self, area: float) -> bool:
        """Whether the box is larger than at the last look by far, now and in the frame before."""
        was_large, self._large = self._large, 0.0 < self._rule.grown * self._looked_area < area
        return was_large and self._large

    def _shrinks(self, area: float) -> bool:
        """Whether the box is smaller than at the last look, now and in the frame before: a single one may be wrong."""
        self._area = area
        was_small, self._small = self._small, area * self._rule.shrunk < self._looked_area
        return was_small and self._small

    @property
    def sure(self) -> bool:
        """Whether enough is known to stop looking."""
        return self._whole and self.belief is not None and self.belief.posterior >= self._rule.sure

    @property
    def conclusive(self) -> bool:
        """Whether the pool is sure, or has all looks that are made to become sure."""
        return self.sure or (self._whole and self.pool is not None and self.pool.looks >= self._rule.most_looks)

    def can_wait(self, at_s: float) -> bool:
        """Whether a look that is due may be made later: the answer is known, nothing speaks against it."""
        return (
            self.conclusive
            and not self.outgrown
            and not self._contradictions
            and at_s < self._due_s + self._rule.postponed_s
        )

    def look(self, look: Look, at_s: float) -> None:
        """Take a look at the object as ``is_due`` has just seen it."""
        if self.pool is None or self.outgrown or not (self._cut_off or self._whole):
            self._begin([])
        self._doubt(look)
        if len(self._contradictions) >= self._rule.contradictions:
            self._begin(self._contradictions)
        else:
            self._add(look)
        self._looked_s, self._due_s = at_s, at_s + self._next_gap_s()
        self._looked_area, self._small, self._large = self._area, False, False

    def _begin(self, looks: list[Look]) -> None:
        self._whole = not self._cut_off
        strength = 1.0 if self._whole else self._rule.border_strength
        self.pool = Pool(self._words, self._rule.correlation, strength)
        self.belief, self.concluded, self.outgrown, self._contradictions = None, False, False, []
        self._gap_s = self._rule.recheck_s if self._whole else self._rule.look_every_s
        for look in looks:
            self._add(look)

    def _add(self, look: Look) -> None:
        assert self.pool is not None
        self.pool.add(look)
        self.belief = self.pool.belief()

    def _doubt(self, look: Look) -> None:
        """Note whether the look, and those before it, contradict the answer."""
        said, before = look.said.label, self._contradictions
        if before and before[0].said.label != said:
            before.clear()
        known = before or (self.conclusive and self.belief is not None and self.belief.said.label != said)
        if known and look.certainty >= self._rule.least_certainty:
            before.append(look)
        else:
            before.clear()

    def _next_gap_s(self) -> float:
        if self._contradictions:
            return self._rule.doubt_every_s
        if self._whole and not self.conclusive:
            return self._rule.look_every_s
        gap_s, self._gap_s = self._gap_s, min(2 * self._gap_s, self._rule.longest_recheck_s)
        return gap_s
