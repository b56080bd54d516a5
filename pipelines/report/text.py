"""A run's report for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from operators.wire.schema import Interval, NodePlan, ProcessorSeconds, Specialization
from operators.zones.visits import LineReport, ZoneReport
from pipelines.report.explanation import detail_lines
from pipelines.report.run_report import (
    AuditReport,
    RunReport,
    StreamReport,
    TimeShares,
)
from pipelines.report.tracks import LookReport


def render(report: RunReport) -> Group:
    """The report as text and tables."""
    parts: list[RenderableType] = [Text(line) for line in _headline(report)]
    if len(report.streams) > 1:
        parts.append(_streams(report.streams))
    if report.stages:
        parts += [_stages(report), Text(_share(report.share))]
    if special := [(each, each.plan.specialization) for each in report.audits if each.plan.specialization]:
        parts.append(table(special))
        parts += [Text(f"{_place(each)}: {figures.reason}") for each, figures in special if figures.reason]
    if report.audits:
        lines = [line for remarks in (_reasons, _paces, _names_lost, _unsure) for line in _said(remarks, report.audits)]
        lines += _said(_switch_offs, report.audits)
        parts += [_audits(report.audits), *map(Text, lines)]
    return Group(*parts)


def _headline(report: RunReport) -> Iterable[str]:
    frames = report.frames
    yield (
        f"{frames.sampled} frame{'s' * (frames.sampled != 1)} in {report.wall_s:.1f} s: {frames.analysed} analysed "
        f"({report.fps:g} per second), {frames.dropped} dropped, {frames.failed} failed"
        + ("" if report.late is None else f", {report.late} later than the SLO")
    )
    counts = (("objects", report.objects), ("tracks", report.tracks), ("not analysed because", report.causes))
    for title, counted in counts:
        if counted:
            yield f"{title}: " + ", ".join(f"{label} {count}" for label, count in counted.items())
    yield from _zones(report.lines, report.zones)
    yield from map(_looks, report.answers)
    yield from map(str, report.budgets)
    for stream, failure in report.failed_streams.items():
        yield f"stream {stream} failed ({failure.reason}): {failure.message}"
    for stream, silence in report.silent_streams.items():
        why = f" ({silence.reason}): {silence.message}" if silence.reason else ""
        yield f"stream {stream} never gave a frame{why}"


def _looks(found: LookReport) -> str:
    """Who looked, and how steady the answers were."""
    looks = ", ".join(f"{who} {count}" for who, count in found.looks.items()) or "none"
    per_track = "" if found.looks_per_track is None else f", {found.looks_per_track:g} a track"
    flicker = "" if found.flicker is None else f"; {found.flicker:.1%} of a track's answers differ from the one before"
    return (
        f"{found.attribute}: {found.answers} answers by {sum(found.looks.values())} looks ({looks}){per_track}{flicker}"
    )


def _zones(lines: Iterable[LineReport], zones: Iterable[ZoneReport]) -> Iterable[str]:
    """Who crossed lines and who entered zones."""
    for line in lines:
        ways = (("left to right", line.left_to_right), ("right to left", line.right_to_left))
        said = ", ".join(f"{sum(crossed.values())} {way}{_by_label(crossed)}" for way, crossed in ways)
        yield f"{line.stream} {line.line}: crossed {said}"
    for zone in zones:
        stayed = ""
        if zone.mean_dwell_s is not None:
            stayed = f", stayed {zone.mean_dwell_s:.1f} s on average, {zone.longest_dwell_s:.1f} s at most"
        yield f"{zone.stream} {zone.zone}: entered {sum(zone.entered.values())}{_by_label(zone.entered)}{stayed}"


def _by_label(counted: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{label} {n}' for label, n in counted.items())})" if counted else ""


def _streams(streams: Mapping[str, StreamReport]) -> Table:
    table = _table("stream", "sampled", "analysed", "dropped", "failed", "fps", "p50 ms", "p99 ms")
    for name, stream in streams.items():
        frames, latency = stream.frames, stream.latency_ms
        counts = map(str, (frames.sampled, frames.analysed, frames.dropped, frames.failed))
        table.add_row(name, *counts, f"{stream.fps:g}", _ms(latency.p50), _ms(latency.p99))
    return table


def _stages(report: RunReport) -> Table:
    table = _table("stage", "p50 ms", "p95 ms", "p99 ms")
    for name, stage in [*report.stages.items(), ("capture to result", report.latency_ms)]:
        table.add_row(name, _ms(stage.p50), _ms(stage.p95), _ms(stage.p99))
    return table


def _table(title: str, *figures: str) -> Table:
    table = Table(title, box=None)
    for column in figures:
        table.add_column(column, justify="right")
    return table


def _audits(audits: Iterable[AuditReport]) -> Table:
    """How far shortcuts may be believed."""
    table = Table("audited", "shortcuts", box=None, collapse_padding=True, pad_edge=False)
    for column in ("share", "audits", "agree", "95 %", "at any time", "wanted"):
        table.add_column(column, justify="right", no_wrap=True)
    for audit in audits:
        found = audit.plan.agreement
        table.add_row(
            _what(audit),
            audit.plan.phase,
            f"{audit.plan.shortcut_share:.0%}",
            str(found.audits),
            "–" if found.found is None else f"{found.found:.3f}",
            _interval(found.exact),
            _interval(found.sequential),
            f"{found.wanted:g}",
        )
    return table


def _said(remarks: Callable[[NodePlan], Iterable[str]], audits: Iterable[AuditReport]) -> Iterable[str]:
    return [f"{_what(audit)}: {line}" for audit in audits for line in remarks(audit.plan)]


def _reasons(plan: NodePlan) -> Iterable[str]:
    """Why shortcuts do not answer."""
    if plan.reason is not None:
        yield plan.reason


def _paces(plan: NodePlan) -> Iterable[str]:
    if plan.pace is not None:
        yield f"the detector ran on {1 - plan.shortcut_share:.0%} of the frames; it {plan.pace}"
    yield from detail_lines(plan.detail)


def _names_lost(plan: NodePlan) -> Iterable[str]:
    if (lost := plan.names_lost) is not None:
        are_lost = "would be lost" if plan.phase == "shadow" else "lost"
        yield f"names that {plan.oracle} gave: {lost.lost} of {lost.names} {are_lost} ({_interval(lost.exact)})"


def _unsure(plan: NodePlan) -> Iterable[str]:
    if unsure := plan.agreement.unsure:
        yield f"in {unsure} more audits the oracle itself was not sure; they do not count"


def _switch_offs(plan: NodePlan) -> Iterable[str]:
    return (f"off after {each.answers} objects: a shortcut {each.reason}" for each in plan.switch_offs)


def _what(audit: AuditReport) -> str:
    return _place(audit) if audit.plan.kind == "variant" else f"{_place(audit)} {audit.plan.kind}"


def _place(audit: AuditReport) -> str:
    return f"{audit.stream} {audit.plan.node}"


def _interval(bounds: Interval) -> str:
    return f"{bounds.low:.3f}–{bounds.high:.3f}"


def _share(share: TimeShares) -> str:
    return f"time spent: decode {share.decode:.0%}, inference {share.inference:.0%}, framework {share.framework:.0%}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def table(nodes: Iterable[tuple[AuditReport, Specialization]]) -> Table:
    """The columns of table 5.4 (Shen, 2019), and the net saving in processor seconds."""
    found = Table("specialised", box=None, collapse_padding=True, pad_edge=False)
    for column in ("special", "cascade", "set in", "classes", "window", "saved", "share", "speed-up"):
        found.add_column(column, justify="right", no_wrap=True)
    for audit, figures in nodes:
        found.add_row(
            _place(audit),
            f"{figures.special_rate:.1%}",
            _figure(figures.cascade_rate, ".1%"),
            str(figures.transitions),
            _figure(figures.mean_dominant, ".1f"),
            _figure(figures.mean_window, ".1f"),
            _seconds(figures.processor_s),
            _figure(figures.saving, ".1%"),
            _figure(figures.speedup, ".2f"),
        )
    return found


def _seconds(account: ProcessorSeconds | None) -> str:
    """The net saving; nothing before the oracle has answered."""
    return "–" if account is None or not account.oracle + account.avoided else f"{account.saved:.1f} s"


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
