"""How a stream stands with the frames that its detector skips, as it is published."""

from __future__ import annotations

from cache_adapt.audit.confidence import sequential
from operators.detect.needed.account import Account, SkipTally
from operators.detect.needed.bisection import window_s
from operators.detect.needed.needed_stream import NeededStream
from operators.detect.needed.pace import ERROR
from operators.wire import schema

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
