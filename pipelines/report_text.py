"""A run's report for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def render(summary: Mapping[str, Any]) -> Group:
    """The summary of ``Report`` as text and tables."""
    parts: list[RenderableType] = [Text(line) for line in _headline(summary)]
    if len(summary["streams"]) > 1:
        parts.append(_streams(summary["streams"]))
    if summary["stages"]:
        parts += [_stages(summary), Text(_share(summary["share"]))]
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


def _share(share: Mapping[str, float]) -> str:
    return "time spent: " + ", ".join(f"{name} {value:.0%}" for name, value in share.items())


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
