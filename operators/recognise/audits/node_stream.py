"""A stream at a node whose answers are audited: its audits, its trials, what specialization did."""

from __future__ import annotations

from dataclasses import dataclass, field

from operators.audits.streams import StreamAudits
from operators.recognise.audits.standing import Standing
from operators.recognise.audits.trials import OpenTrials
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
    standing: Standing | None = None
    """The phase of specialization that was last noted."""

    def count(self, **answers: int) -> None:
        """Count answers, or audits, by the columns of ``SpecializationTally.counted``."""
        if self.tally is not None:
            self.tally.counted(**answers)

    def note(self, standing: Standing | None) -> None:
        """Note the stream's present standing."""
        self.standing = standing
        if self.tally is not None and standing is not None:
            self.tally.entered(standing.phase, standing.classes, standing.window)
