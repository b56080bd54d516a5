"""A run's report for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipelines import specialization_text


def render(summary: Mapping[str, Any]) -> Group:
    """The summary of ``Report`` as text and tables."""
    parts: list[RenderableType] = [Text(line) for line in _headline(summary)]
    if len(summary["streams"]) > 1:
        parts.append(_streams(summary["streams"]))
    if summary["stages"]:
        parts += [_stages(summary), Text(_share(summary["share"]))]
    if summary["specialization"]:
        parts.append(specialization_text.table(summary["specialization"]))
        parts += [Text(line) for line in specialization_text.stories(summary["specialization"])]
    if summary["audits"]:
        parts += [_audits(summary["audits"]), *(Text(line) for line in _switch_offs(summary["audits"]))]
    return Group(*parts)


def _headline(summary: Mapping[str, Any]) -> Iterable[str]:
    frames = summary["frames"]
    yield (
        f"{frames['sampled']} frames in {summary['wall_s']:.1f} s: {frames['analysed']} analysed "
        f"({summary['fps']:g} per second), {frames['dropped']} dropped, {frames['failed']} failed, "
        f"{summary['late']} later than the SLO"
    )
    for title, key in (("objects", "objects"), ("tracks", "tracks"), ("not analysed because", "causes")):
        if summary[key]:
            yield f"{title}: " + ", ".join(f"{label} {count}" for label, count in summary[key].items())


def _streams(streams: Mapping[str, Any]) -> Table:
    table = Table("stream", box=None)
    for column in ("sampled", "analysed", "dropped", "failed", "fps", "p50 ms", "p99 ms"):
        table.add_column(column, justify="right")
    for name, stream in streams.items():
        frames, latency = stream["frames"], stream["latency_ms"]
        counts = [str(frames[key]) for key in ("sampled", "analysed", "dropped", "failed")]
        table.add_row(name, *counts, f"{stream['fps']:g}", _ms(latency["p50"]), _ms(latency["p99"]))
    return table


def _stages(summary: Mapping[str, Any]) -> Table:
    table = Table("stage", box=None)
    for column in ("p50 ms", "p95 ms", "p99 ms"):
        table.add_column(column, justify="right")
    for name, stage in summary["stages"].items():
        table.add_row(name, *(_ms(stage[key]) for key in ("p50", "p95", "p99")))
    table.add_row("capture to result", *(_ms(summary["latency_ms"][key]) for key in ("p50", "p95", "p99")))
    return table


def _audits(audits: Iterable[Mapping[str, Any]]) -> Table:
    """How far shortcuts may be believed."""
    table = Table("audited", "shortcuts", box=None)
    for column in ("share", "audits", "agree", "95 %", "at any time", "wanted"):
        table.add_column(column, justify="right", no_wrap=True)
    for audit in audits:
        found = audit["agreement"]
        table.add_row(
            _what(audit),
            audit["phase"],
            f"{audit['shortcut_share']:.0%}",
            str(found["audits"]),
            "–" if found["found"] is None else f"{found['found']:.3f}",
            _interval(found["exact"]),
            _interval(found["sequential"]),
            f"{found['wanted']:g}",
        )
    return table


def _what(audit: Mapping[str, Any]) -> str:
    kind = "" if audit["kind"] == "variant" else f" {audit['kind']}"
    return f"{audit['stream']} {audit['node']}{kind}"


def _interval(bounds: Mapping[str, float]) -> str:
    return f"{bounds['low']:.3f}–{bounds['high']:.3f}"


def _switch_offs(audits: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for audit in audits:
        for each in audit["switch_offs"]:
            yield f"{_what(audit)}: off after {each['answers']} answers: a shortcut {each['reason']}"


def _share(share: Mapping[str, float]) -> str:
    return "time spent: " + ", ".join(f"{name} {value:.0%}" for name, value in share.items())


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
