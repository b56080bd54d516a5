"""The cost and savings of shortcuts on one stream and node, in processor seconds, against the oracle alone. Pure."""

from __future__ import annotations

import msgspec


class Seconds(msgspec.Struct):
    """Processor seconds of the whole process, all its threads and children together; plain data."""

    oracle: float = 0.0
    """The oracle's, for its answers."""
    shortcuts: float = 0.0
    """The cost of looks through the network with cuts, beyond the oracle's for its own answers."""
    avoided: float = 0.0
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
