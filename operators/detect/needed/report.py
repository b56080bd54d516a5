"""How a stream stands with the frames that its detector skips, as it is published."""

from __future__ import annotations

from dataclasses import dataclass

from cache_adapt.audit.confidence import sequential
from operators.detect.needed.bisection import window_s
from operators.detect.needed.pace import ERROR, Pace
from operators.wire import schema


@dataclass
class Tally:
    """What became of the frames of one stream."""

    detected: int = 0
    """Frames on which the detector ran."""
    skipped: int = 0
    ahead: int = 0
    """Frames that were planned by looking ahead."""
    audits: int = 0
    looks: int = 0
    look_s: float = 0.0
    """Processor seconds of all looks, to decide and to move regions."""

    def looked(self, took_s: float) -> None:
        """Count a look."""
        self.looks += 1
        self.look_s += took_s


def node_plan(node: str, model: str, accuracy: float, pace: Pace, tally: Tally) -> schema.NodePlan:
    """Describe what a detect node does for one stream, and what audits of skipped frames have found."""
    found, frames = pace.evidence, tally.detected + tally.skipped
    interval = sequential(found.deficits, found.weight, ERROR)
    bounds = schema.Interval(low=round(interval.low, 4), high=round(interval.high, 4))
    return schema.NodePlan(
        node=node,
        kind="propagated",
        oracle=model,
        shortcuts=[],
        phase="off" if pace.every == 1 else "trusted" if pace.proven else "probation",
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
        pace=in_words(pace.every, tally),
    )


def in_words(every: int, tally: Tally) -> str:
    """Return which frames the detector skips at a pace."""
    if every == 1:
        return "runs on every frame"
    if tally.ahead:
        return f"looks {window_s(every):.2g} s ahead where objects move"
    return f"runs at least once in {every} frames while objects move"
