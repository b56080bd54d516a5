"""The rows of ``benchmarks.exits_video``: the whole of a run, and each half, beside the oracle's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.exits_video_parts.cases import FPS, NODE
from benchmarks.exits_video_parts.scores import EXITS, Published, Share, compared, first_service, published
from benchmarks.harness import Row
from benchmarks.run_parts.watched import Watched

WHOLE, FIRST, SECOND = "whole", "first half", "second half"
HALVED_S = 600.0
"""Shorter runs are told as a whole only."""


def rows(told: Row, run: Watched, oracle: Watched, learnt_s: float) -> Iterator[Row]:
    """``told``: the setting; ``learnt_s``: processor seconds of learning from a recording."""
    mine, others, frames = published(run.lines), published(oracle.lines), len(run.lines)
    parts = {WHOLE: (0, frames)}
    if frames >= HALVED_S * FPS:
        parts |= {FIRST: (0, frames // 2), SECOND: (frames // 2, frames)}
    common = {**_audit(run.report), "first_service_looks": _or_empty(first_service(mine)), "learnt_s": learnt_s}
    for name, (begin, end) in parts.items():
        where = {**told, "part": name, "frames": end - begin}
        yield {**where, **_costs(run, oracle, begin, end), **_words(mine, others, begin, end), **common}


def _costs(run: Watched, oracle: Watched, begin: int, end: int) -> Mapping[str, float]:
    """``node_s``: time that frames spent in the node."""
    found: dict[str, float] = {}
    for name, each in (("", run), ("oracle_", oracle)):
        found[f"{name}node_s"] = sum(float(line["plan"]["stages_ms"].get(NODE, 0.0)) for line in each.lines[begin:end])
        found[f"{name}cpu_s"] = 1e3 * (each.cpu_until(end) - each.cpu_until(begin))
    told = {name: round(value / 1e3, 3) for name, value in found.items()}
    told["node_ratio"] = round(found["node_s"] / max(found["oracle_node_s"], 1e-9), 3)
    told["cpu_ratio"] = round(found["cpu_s"] / found["oracle_cpu_s"], 3)
    told["recognition_share"] = round(found["oracle_node_s"] / sum(map(_worked_ms, oracle.lines[begin:end])), 3)
    return told


def _worked_ms(line: Mapping[str, Any]) -> float:
    """Time that a frame spent in all stages, but for waiting."""
    return sum(float(spent) for stage, spent in line["plan"]["stages_ms"].items() if stage != "queue")


def _words(mine: Published, others: Published, begin: int, end: int) -> Mapping[str, Any]:
    found = compared(mine, others, lambda seq: begin <= seq < end)
    looked = sum(begin <= seq < end and bool(each.looked) for (seq, _), each in others.items())
    return {
        "objects": found.objects,
        "same_objects": found.same,
        "looks": found.looks,
        "oracle_looks": looked,
        "looks_per_min": round(found.looks / max((end - begin) / FPS / 60, 1e-9), 1),
        "by_exits": found.by_exits,
        "answered": round(found.by_exits / max(found.looks, 1), 4),
        **share_columns("agreement", found.agreement),
        **share_columns("of_exits", found.of_exits),
        **share_columns("names_lost", found.names_lost),
    }


def share_columns(name: str, share: Share | None) -> Mapping[str, Any]:
    """A share and its interval; empty where there is none."""
    told = ("", "", "") if share is None else (share.found, share.low, share.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), told, strict=True))


def _audit(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the audit of the exits says at the end; of several kinds, of the one with more audits."""
    audits = [each for each in report["audits"] if each["kind"] in EXITS]
    if not audits:
        return dict.fromkeys(("phase", "audits", "audit_low", "audit_high", "audit_lost", "switched_off"), "")
    most = max(audits, key=lambda each: int(each["audits"]))
    interval, lost = most["agreement"]["sequential"], most["names_lost"]
    return {
        "phase": most["phase"],
        "audits": most["audits"],
        "audit_low": round(interval["low"], 4),
        "audit_high": round(interval["high"], 4),
        "audit_lost": "" if lost is None else lost.get("found", ""),
        "switched_off": sum(int(each["switched_off"]) for each in audits),
    }


def _or_empty(value: int | None) -> int | str:
    return "" if value is None else value
