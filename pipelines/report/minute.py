"""One line a minute about a worker, where there is something to say. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MINUTE_S = 60.0
REPEAT_S = 600.0
"""A fact that goes on unchanged is said again after so long."""
BEHIND_S = 5.0
"""A lag of less is none."""
CHANGED = 0.1
"""A share that moved by so much is worth a line."""
SHOWN_CAUSES = 3


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts since the beginning, and the lag of this moment."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Results by outcome."""
    drops: Counter[str] = field(default_factory=Counter)
    """Dropped frames by cause."""
    letters: int = 0
    """Dead letters."""
    behind: int = 0
    """Frames behind the end of the topic."""
    lag_s: float = 0.0

    def since(self, before: Totals) -> Totals:
        """The difference of counts, with the lag of the later."""
        outcomes, drops, letters = self.outcomes - before.outcomes, self.drops - before.drops, before.letters
        return Totals(outcomes, drops, self.letters - letters, self.behind, self.lag_s)

    @property
    def well(self) -> bool:
        """Nothing dropped or failed, and no lag."""
        return not (self.outcomes["dropped"] or self.faults or self.lag_s >= BEHIND_S)

    @property
    def drop_share(self) -> float:
        """Dropped frames as a share of all results, 0…1."""
        return self.outcomes["dropped"] / max(1, self.outcomes.total())

    @property
    def faults(self) -> int:
        """Frames that failed, and dead letters."""
        return self.outcomes["failed"] + self.letters

    @property
    def counts(self) -> str:
        """Frames by outcome, with the causes of drops."""
        parts = [f"{self.outcomes['analysed']} frames analysed", f"{self.outcomes['dropped']} dropped{self._causes()}"]
        if failed := self.outcomes["failed"]:
            parts.append(f"{failed} failed")
        if self.letters:
            parts.append(f"{self.letters} dead letters")
        return ", ".join(parts)

    def __str__(self) -> str:
        lag = f"{self.behind} behind ({self.lag_s:.0f} s)" if self.lag_s >= BEHIND_S else "none behind"
        return f"{self.counts}, {lag}"

    def _causes(self) -> str:
        if not self.drops:
            return ""
        most = ", ".join(f"{cause} {number}" for cause, number in self.drops.most_common(SHOWN_CAUSES))
        return f" ({self.drop_share:.0%}: {most})"


class MinuteLine:
    """Says how the last minute went, where it went otherwise than the one that was told of before."""

    def __init__(self, now_s: float) -> None:
        self._from_s = now_s
        self._from = Totals()
        self._told = Totals()
        self._told_s = now_s

    def line(self, now_s: float, totals: Totals) -> str | None:
        """The line of the minute that has just passed; None within a minute and where nothing is new."""
        if now_s - self._from_s < MINUTE_S:
            return None
        minute = totals.since(self._from)
        self._from_s, self._from = now_s, totals
        if not self._new(minute, now_s):
            return None
        self._told, self._told_s = minute, now_s
        return f"last minute: {minute}"

    def _new(self, minute: Totals, now_s: float) -> bool:
        if minute.well or self._told.well:
            return minute.well != self._told.well
        moved = abs(minute.drop_share - self._told.drop_share) >= CHANGED
        grows = minute.lag_s >= max(BEHIND_S, 1.5 * self._told.lag_s)
        more = minute.faults > 2 * self._told.faults
        return moved or grows or more or now_s - self._told_s >= REPEAT_S
