"""The moments of an audit's looks at an object: at random, whatever was answered for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from operators.recognise.objects.look_rule import LOOK_RULE


class TrialMoments:
    """A few moments in which the whole object is seen, in media seconds; they follow each other as other looks do."""

    def __init__(self, chances: Sequence[float]) -> None:
        """``chances``: uniform in [0, 1), one for each look."""
        self._chances = chances
        self._taken = 0
        self._due_s: float | None = None

    @property
    def used_up(self) -> bool:
        return self._taken == len(self._chances)

    def come(self, at_s: float, whole: bool) -> bool:
        """Take a frame that shows the object; returns whether it should be looked at in it.

        The first look is up to one gap after the object is first seen whole, so that it is seldom the look of others.
        """
        if self.used_up or not whole:
            return False
        if self._due_s is None:
            self._due_s = at_s + self._gap_s(0.0)
        if at_s < self._due_s:
            return False
        self._taken += 1
        if not self.used_up:
            self._due_s = at_s + self._gap_s(0.5)
        return True

    def _gap_s(self, least: float) -> float:
        return (least + self._chances[self._taken]) * LOOK_RULE.look_every_s
