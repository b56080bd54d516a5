"""One stream of a detector that may skip frames, and the terms that hold for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from operators.decision import Past
from operators.detect.agreement import UNSURE
from operators.detect.detail.stream import StreamDetail
from operators.detect.detail.widths import AutoDetail
from operators.detect.needed.account import Account, SkipTally
from operators.detect.needed.audits import Before, FrameAudit
from operators.detect.needed.doubt import FillingDoubt
from operators.detect.needed.pace import SkipPace
from operators.detect.needed.stream import StreamView
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer

NO_RUN = ""
"""The run of a stream before its first frame."""
COMPARED = 4
"""So many audits there are for each that tells what more or less detail would have found."""


@dataclass(frozen=True)
class SkipTerms:
    """How good the regions of skipped frames must be, and who hears of those that were not."""

    accuracy: float
    """How far they must agree with the detector's, relative to its agreement with itself, 0…1."""
    least: float
    """The confidence from which the detector reports an object."""
    engine: Inference
    """Knows what the detector costs."""
    observer: Observer = UNOBSERVED
    detail: AutoDetail | None = None
    """Where each stream is shown as much as its skipped frames pay for."""

    @property
    def sure(self) -> float:
        """The confidence from which an object counts wherever it is missing; others come and go by themselves."""
        return self.least + UNSURE


@dataclass(eq=False)
class NeededStream:
    """One stream."""

    pace: SkipPace
    view: StreamView
    tally: SkipTally
    account: Account
    before: Before | None = None
    """The frame before, where the present one would be audited."""
    ran: str | None = None
    """The model that ran last."""
    found_with: int | None = None
    """The longer side of what its network was shown when it ran last."""
    drawn: int = 0
    """Audits that were drawn."""
    detail: StreamDetail | None = None
    """Chooses how much its network is shown; None: that is the same for all streams."""
    doubt: FillingDoubt = field(init=False)

    def __post_init__(self) -> None:
        self.doubt = FillingDoubt(self.pace.tolerance)

    def shown(self, past: Past | None) -> int | None:
        """The longer side of what the network is shown; ``past``: as it was then."""
        if past is not None:
            return past.detail
        return None if self.detail is None else self.detail.detail

    def to_compare(self) -> int | None:
        """Draw an audit; returns the longer side with which it is to compare, if it does."""
        self.drawn += 1
        return None if self.detail is None or self.drawn % COMPARED != 1 else self.detail.other

    def audited(self, seen: FrameAudit) -> None:
        """Count an audit."""
        self.tally.audits += 1
        self.tally.audit_runs += seen.runs
        if self.detail is not None and seen.compared is not None:
            self.tally.audit_runs += self.detail.other_runs
            self.detail.compared(*seen.compared)
