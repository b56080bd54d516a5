"""The cost and savings of shortcuts on one stream and node, in processor seconds, against the oracle alone. Pure."""

from __future__ import annotations

import msgspec

from learning.purse import Expense


class Seconds(msgspec.Struct):
    """Processor seconds of the whole process, all its threads and children together; plain data."""

    oracle: float = 0.0
    """The oracle's, for its answers."""
    shortcuts: float = 0.0
    """The cost of the networks of shortcuts that answered or said "other"; less what the oracle was spared
    of its looks, where it went on from there."""
    avoided: float = 0.0
    """The oracle would have taken for the answers of shortcuts."""
    early: float = 0.0
    """The cost beyond the oracle's own run of earlier answers; the query has asked for that."""
    samples: float = 0.0
    shadow: float = 0.0
    audits: float = 0.0
    training: float = 0.0
    profiling: float = 0.0
    algorithm: float = 0.0

    @property
    def spent(self) -> float:
        """Seconds spent on finding out what can be saved."""
        return self.samples + self.shadow + self.audits + self.training + self.profiling + self.algorithm

    @property
    def saved(self) -> float:
        """Net; below 0 where everything together has cost more than the oracle alone."""
        return self.avoided - self.shortcuts - self.early - self.spent

    @property
    def alone(self) -> float:
        """The oracle's would-be cost of all answers."""
        return self.oracle + self.avoided

    def answered(self, by_oracle: int, by_shortcuts: int, oracle_s: float, shortcuts_s: float) -> None:
        """Count answers; ``oracle_s``: of one look of the oracle, ``shortcuts_s``: of the networks of shortcuts."""
        self.oracle += by_oracle * oracle_s
        self.avoided += by_shortcuts * oracle_s
        self.shortcuts += shortcuts_s

    def spend(self, kind: Expense, seconds: float) -> None:
        """Something was spent on this stream."""
        setattr(self, kind, getattr(self, kind) + seconds)
