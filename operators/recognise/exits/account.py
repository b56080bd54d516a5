"""Whether exits that answer on a stream bring more than they cost: those that lose are left. Pure."""

from __future__ import annotations

import msgspec

from learning.retry_gap import RetryGap
from learning.saved import Amount, Count

FIRST_GAP = 500
"""Looks between exits that brought nothing and the next attempt; then twice as many each time."""
PATIENCE = 30.0
"""Exits are left when they have cost more than they saved by so many looks of the oracle."""


class Seconds(msgspec.Struct):
    """Processor seconds of the whole process, all its threads and children together; plain data."""

    oracle: Amount = 0.0
    """The oracle's, for its answers."""
    shortcuts: float = 0.0
    """The cost of looks through the network with cuts, beyond the oracle's for its own answers."""
    avoided: Amount = 0.0
    """The oracle would have taken for the answers of exits."""

    @property
    def saved(self) -> float:
        """Net; below 0 where everything together has cost more than the oracle alone."""
        return self.avoided - self.shortcuts

    @property
    def alone(self) -> float:
        """The oracle's would-be cost of all answers."""
        return self.oracle + self.avoided

    def answered(self, by_oracle: int, by_shortcuts: int, oracle_s: float, shortcuts_s: float) -> None:
        """Count answers; ``oracle_s``: of one look of the oracle, ``shortcuts_s``: of the networks of shortcuts."""
        self.oracle += by_oracle * oracle_s
        self.avoided += by_shortcuts * oracle_s
        self.shortcuts += shortcuts_s


class ExitAccount(msgspec.Struct):
    """One stream's; plain data that survives a restart."""

    seconds: Seconds = msgspec.field(default_factory=Seconds)
    looks: Count = 0
    lost_s: Amount = 0.0
    """How far the exits that answer now are behind."""
    gap: RetryGap = msgspec.field(default_factory=lambda: RetryGap(FIRST_GAP))

    @property
    def may_try(self) -> bool:
        """Whether exits may be asked for."""
        return self.gap.is_over(self.looks)

    def looked(self, answered: int, ended: int, whole_s: float, own_s: float) -> bool:
        """Count looks while exits may answer; whether they have cost more than they saved for too long.

        ``whole_s``: of a look of the oracle without cuts; ``own_s``: of these looks, beyond the oracle's own.
        """
        self.looks += answered + ended
        self.seconds.answered(ended, answered, whole_s, own_s)
        self.lost_s = max(0.0, self.lost_s + own_s - answered * whole_s)
        return self.lost_s > PATIENCE * whole_s > 0

    def by_oracle(self, looks: int, whole_s: float) -> None:
        """Count looks of the whole network."""
        self.looks += looks
        self.seconds.answered(looks, 0, whole_s, 0.0)

    def left(self, gained: bool) -> None:
        """Exits do not answer any more, or could not be made."""
        self.lost_s = 0.0
        if gained:
            self.gap.succeeded()
        else:
            self.gap.failed(self.looks)
