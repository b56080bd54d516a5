"""A stream at a node whose answers are audited: its audits, its trials, what specialization did."""

from __future__ import annotations

from dataclasses import dataclass, field

from operators.audits.streams import StreamAudits
from operators.recognise.audits.trials import OpenTrials
from operators.wire.schema import Specialization
from specialization.tally import SpecializationTally


@dataclass(eq=False)
class NodeStream:
    """One stream at one node."""

    name: str
    audits: StreamAudits
    tally: SpecializationTally | None
    """None where nothing of the node follows the content."""
    at_s: float = 0.0
    """Media time of the latest frame."""
    run: str | None = None
    """The run whose tracks are audited; None where no tracks are."""
    trials: OpenTrials = field(default_factory=OpenTrials)
    gone: bool = False
    """Whether it has ended here, or began anew."""
    told: Specialization | None = None
    """The figures of its own exits when it ended; None: there is nothing to tell, or it has not ended."""

    def count(self, **answers: int) -> None:
        """Count answers, or audits, by the columns of ``SpecializationTally.counted``."""
        if self.tally is not None:
            self.tally.counted(**answers)
