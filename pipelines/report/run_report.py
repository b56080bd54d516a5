"""The report of a run: its figures, those of specialization among them, and its shape as JSON. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from operators.wire.schema import NodePlan
from operators.zones.visits import LineReport, ZoneReport
from pipelines.report.tracks import LookReport

if TYPE_CHECKING:
    from serving.budgets.terms import BudgetReport


class FrameCounts(msgspec.Struct, frozen=True):
    """Frames by outcome."""

    sampled: int
    analysed: int
    dropped: int
    failed: int


class Quantiles(msgspec.Struct, frozen=True):
    """Durations that 50, 95 and 99 % did not exceed, milliseconds; None where nothing was measured."""

    p50: float | None
    p95: float | None
    p99: float | None


class TimeShares(msgspec.Struct, frozen=True):
    """Shares of the time spent working, waiting left out; together 1, or 0 where nothing was measured."""

    decode: float
    inference: float
    """Nodes of the query."""
    framework: float


class StreamReport(msgspec.Struct, frozen=True):
    """One stream."""

    frames: FrameCounts
    fps: float
    """Analysed frames per second of the run."""
    latency_ms: Quantiles


class StreamFailure(msgspec.Struct, frozen=True):
    """Why a stream failed, or gave no frame."""

    reason: str | None
    message: str | None


class AuditReport(msgspec.Struct, frozen=True):
    """The audits of a stream at a node."""

    stream: str
    plan: NodePlan


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    wall_s: float
    frames: FrameCounts
    fps: float
    """Analysed frames per second."""
    late: int | None
    """Frames analysed later than the SLO; None where all streams are files whose frames wait for the analysis."""
    latency_unknown: int
    causes: dict[str, int]
    """Frames that were not analysed, by why; most frequent first, as in the next two."""
    objects: dict[str, int]
    """Observations by label."""
    tracks: dict[str, int]
    """Distinct tracks by label."""
    answers: list[LookReport]
    """How recognisers came to their answers, by attribute."""
    latency_ms: Quantiles
    """From capture to result."""
    stages: dict[str, Quantiles]
    share: TimeShares
    streams: dict[str, StreamReport]
    failed_streams: dict[str, StreamFailure]
    silent_streams: dict[str, StreamFailure] = {}
    """Others that never gave a frame."""
    audits: list[AuditReport]
    """With what specialization did."""
    lines: list[LineReport] = []
    """Who crossed the query's lines."""
    zones: list[ZoneReport] = []
    """Who entered its zones."""
    budgets: list[BudgetReport] = []
    """The spending of the query's budgets."""

    def to_builtins(self) -> dict[str, Any]:
        """The object that ``--report`` writes."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        pairs = [(each["stream"], each["plan"]) for each in found["audits"]]
        special = [(stream, plan["node"], plan.pop("specialization", None)) for stream, plan in pairs]
        found["audits"] = [{"stream": stream, **plan} for stream, plan in pairs]
        found["specialization"] = [{"stream": stream, "node": node, **each} for stream, node, each in special if each]
        found["budgets"] = [_rounded(each) for each in found["budgets"]]
        return found


def _rounded(budget: dict[str, Any]) -> dict[str, Any]:
    spent = {
        key: {model: float(f"{cost:.6g}") for model, cost in budget[key].items()} for key in ("spent", "spent_today")
    }
    return {**budget, **spent, "left": float(f"{budget['left']:.6g}")}
