"""One stream of a detector that may skip frames, the terms that hold for all of them, and how it stands with the
frames that were skipped, as it is published.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cache_adapt.audit.confidence import sequential
from operators.decision import Past
from operators.detect.agreement import UNSURE
from operators.detect.detail.dial import AutoDetail
from operators.detect.detail.stream import StreamDetail
from operators.detect.needed.account import Account, SkipTally
from operators.detect.needed.audits import Before, FrameAudit
from operators.detect.needed.bisection import window_s
from operators.detect.needed.doubt import FillingDoubt
from operators.detect.needed.pace import ERROR, SkipPace
from operators.detect.needed.stream import StreamView
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from operators.wire import schema

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
        self.tally.audits += 1
        self.tally.audit_runs += seen.runs
        if self.detail is not None and seen.compared is not None:
            self.tally.audit_runs += self.detail.other_runs
            self.detail.compared(*seen.compared)


DIGITS = 4


def node_plan(node: str, model: str, accuracy: float, stream: NeededStream) -> schema.NodePlan:
    """Describe what a detect node does for one stream, and what audits of skipped frames have found."""
    pace, account = stream.pace, stream.account
    found, tally = pace.evidence, account.tally
    frames = tally.detected + tally.skipped
    interval = sequential(found.deficits, found.weight, ERROR)
    bounds = schema.Interval(low=round(interval.low, 4), high=round(interval.high, 4))
    return schema.NodePlan(
        node=node,
        kind="propagated",
        oracle=model,
        shortcuts=[],
        phase="off" if pace.every == 1 or account.rest else "trusted" if pace.proven else "probation",
        answers=frames,
        shortcut_share=round(tally.skipped / frames, 4) if frames else 0.0,
        agreement=schema.Agreement(
            wanted=accuracy,
            found=round(1 - found.deficits / found.audits, 4) if found.audits else None,
            audits=found.audits,
            disagreements=round(found.deficits),
            exact=bounds,
            sequential=bounds,
        ),
        audits=tally.audits,
        unsampled=0,
        given_up=0,
        switched_off=pace.slowed,
        pace=in_words(1 if account.rest else pace.every, tally),
        reason=account.why_not(),
        processor_s=_seconds(account),
        detail=None if stream.detail is None else stream.detail.plan(),
    )


def _seconds(account: Account) -> schema.ProcessorSeconds | None:
    """The account as it is published; None as long as nobody knows what a detection takes."""
    if account.detection_s is None:
        return None
    return schema.ProcessorSeconds(
        oracle=round(account.detected_s, DIGITS),
        shortcuts=round(account.tally.look_s, DIGITS),
        avoided=round(account.avoided_s, DIGITS),
        spent=round(account.audits_s, DIGITS),
        saved=round(account.saved_s, DIGITS),
    )


def in_words(every: int, tally: SkipTally) -> str:
    """Return which frames the detector skips at a pace."""
    if every == 1:
        return "runs on every frame"
    if tally.ahead:
        return f"looks {window_s(every):.2g} s ahead where objects move"
    return f"runs at least once in {every} frames while objects move"
