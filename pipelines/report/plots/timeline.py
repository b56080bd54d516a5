"""A picture of a stream's specialization: which classes dominated when, in which phase, and who answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from operators.wire.schema import NodePlan, StreamPlan
from pipelines.report.run_report import NodeTimeline
from serving.errors import BadInput
from specialization.timeline import Timeline
from specialization.timeline_state import AnswerCounts, PhaseSpan, Slice, TimelineState
from specialization.weg.state import PhaseName

PHASES: dict[PhaseName, tuple[str, str]] = {
    "initialising": ("#eceff3", "oracle: fills its window"),
    "selecting": ("#f8ecc9", "oracle: looks for a skew"),
    "training": ("#f6dcc3", "oracle: exits are made"),
    "specialised": ("#e2f2e7", "specialised"),
}
ANSWERS: dict[Who, tuple[str, str]] = {
    "oracle": ("#33527f", "oracle"),
    "fallback": ("#8ea9d3", "oracle where no exit answered"),
    "head": ("#2f9468", "exit"),
    "reused": ("#e0c25c", "known track"),
}
BAR = "#1d7a55"
INK, FAINT = "#26303b", "#8a94a0"
AGREEMENT = "#7b4fa3"
WIDTH_IN, ROW_IN, SHARE_IN, AGREEMENT_IN, EXTRA_IN = 10.0, 0.25, 1.4, 1.1, 1.2


class Panel(NamedTuple):
    """A node of the stream."""

    node: str
    timeline: Timeline
    plan: NodePlan | None = None
    """Its figures as published, if they are."""


def save_all(directory: Path, timelines: Iterable[NodeTimeline], plans: Iterable[StreamPlan]) -> list[Path]:
    """A picture for each stream that has timelines, with the name of the stream."""
    published = {(plan.stream, node.node): node for plan in plans for node in plan.nodes if node.specialization}
    streams: defaultdict[str, list[Panel]] = defaultdict(list)
    for stream, node, timeline in timelines:
        streams[stream].append(Panel(node, timeline, published.get((stream, node))))
    for stream, panels in streams.items():
        save(directory / f"{stream}.png", stream, panels)
    return [directory / f"{stream}.png" for stream in streams]


def save(path: Path, stream: str, panels: Sequence[Panel]) -> None:
    """Write a stream's picture as PNG, its nodes below each other; raises BadInput where it cannot be written."""
    heights = [_heights(panel) for panel in panels]
    total_in = sum(sum(each) + EXTRA_IN for each in heights)
    figure = Figure(figsize=(WIDTH_IN, total_in), layout="constrained", facecolor="white")
    parts = figure.subfigures(len(panels), 1, height_ratios=[sum(each) + EXTRA_IN for each in heights], squeeze=False)
    for part, panel, ratios in zip(parts[:, 0], panels, heights, strict=True):
        _panel(part, stream, panel, ratios)
    try:
        figure.savefig(path, format="png", dpi=130)
    except OSError as error:
        raise BadInput(f"--plots {path.parent}: {path.name} cannot be written ({error.strerror})") from None


def _heights(panel: Panel) -> list[float]:
    """Inches of the classes, the shares and, where it is known, the agreement."""
    state = panel.timeline.state
    count = max(3, len(class_rows(state.spans)))
    known = any(each.agreement for each in state.slices)
    return [ROW_IN * count + 0.2, SHARE_IN, *([AGREEMENT_IN] if known else [])]


def _panel(part: Any, stream: str, panel: Panel, ratios: Sequence[float]) -> None:
    state = panel.timeline.state
    axes = part.subplots(len(ratios), 1, sharex=True, height_ratios=ratios)
    axes[0].set_title(f"{stream} · {panel.node}", loc="left", fontsize=11, fontweight="bold", color=INK)
    axes[0].set_title(_figures(panel.plan), loc="right", fontsize=8.5, color=INK)
    _classes(axes[0], state.spans)
    _shares(axes[1], panel.timeline)
    if len(ratios) > 2:
        _agreement(axes[2], panel)
    for each in axes:
        _plain(each)
    start_s = state.spans[0].from_s if state.forgotten else 0.0
    axes[-1].set_xlim(start_s, max(state.now_s, start_s + 1.0))
    axes[-1].xaxis.set_major_formatter(FuncFormatter(lambda at_s, _: clock(at_s)))
    axes[-1].xaxis.set_major_locator(MaxNLocator(10, steps=[1, 1.5, 3, 6, 10]))
    axes[-1].set_xlabel("time in the stream", color=INK, fontsize=9)
    patches = [
        Patch(facecolor=colour, edgecolor=FAINT, linewidth=0.5, label=label)
        for colour, label in (*PHASES.values(), *ANSWERS.values())
    ]
    part.legend(handles=patches, loc="outside lower center", ncols=8, fontsize=7.5, frameon=False, handlelength=1.2)


def _figures(plan: NodePlan | None) -> str:
    found = plan.specialization if plan else None
    if found is None or found.speedup is None or found.cascade_rate is None:
        return ""
    return (
        f"special {found.special_rate:.0%} · cascade {found.cascade_rate:.0%} · set in {found.transitions}× · "
        f"{found.mean_dominant:.1f} classes · window {found.mean_window:.0f} · {found.speedup:.2f}× the oracle's speed"
    )


def _classes(axes: Any, spans: Sequence[PhaseSpan]) -> None:
    for phase, (colour, _) in PHASES.items():
        times = [(span.from_s, span.to_s - span.from_s) for span in spans if span.phase == phase]
        axes.broken_barh(times, (0, 1), transform=axes.get_xaxis_transform(), color=colour, linewidth=0, zorder=0)
    rows = class_rows(spans)
    for place, times in enumerate(rows.values()):
        axes.broken_barh(times, (place - 0.32, 0.64), color=BAR, linewidth=0, zorder=2)
    axes.set_yticks(range(len(rows)), labels=list(rows))
    axes.set_ylim(max(len(rows), 3) - 0.4, -0.6)
    if not rows:
        axes.text(0.5, 0.5, "no exit was in use", transform=axes.transAxes, ha="center", va="center", color=FAINT)


def _shares(axes: Any, timeline: Timeline) -> None:
    edges_s, of = answer_shares(timeline.state)
    base = np.zeros(len(edges_s) - 1)
    for who, (colour, _) in ANSWERS.items():
        top = base + np.array(of[who])
        axes.stairs(top, edges_s, baseline=base, fill=True, color=colour, linewidth=0)
        base = top
    axes.set_ylim(0, 1)
    axes.set_ylabel("answers by", color=INK, fontsize=9)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def _agreement(axes: Any, panel: Panel) -> None:
    found = agreement_bounds(panel.timeline.state.slices)
    axes.fill_between(found.at_s, found.low, found.high, step="post", color=AGREEMENT, alpha=0.25, linewidth=0)
    for bound in (found.low, found.high):
        axes.step(found.at_s, bound, where="post", color=AGREEMENT, linewidth=1)
    wanted = panel.plan.agreement.wanted if panel.plan else None
    if wanted is not None:
        axes.axhline(wanted, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate("wanted", (1, wanted), xycoords=("axes fraction", "data"), fontsize=7.5, ha="right", va="bottom")
    axes.set_ylim(max(0.0, min([*found.low[-len(found.low) // 2 :], wanted or 1.0]) - 0.05), 1.0)
    axes.set_ylabel("agreement", color=INK, fontsize=9)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def _plain(axes: Any) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=8.5, length=0)


def clock(at_s: float) -> str:
    """``1:05`` or ``2:03:05``."""
    minutes, seconds = divmod(round(at_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


COLUMNS = 90
"""Steps of a share over time, at most."""
ROWS = 20
"""Classes that are drawn, those that dominate longest."""
Who = Literal["oracle", "fallback", "head", "reused"]
SOURCES: Final[tuple[Who, ...]] = ("oracle", "fallback", "head", "reused")


class AnswerShares(NamedTuple):
    """Who gave the answers, over time."""

    edges_s: list[float]
    """One more than values."""
    of: dict[Who, list[float]]
    """Shares of the answers within two edges, 0…1; NaN where there were none."""


class Bounds(NamedTuple):
    """The interval of the agreement over time: from its time on, until the next."""

    at_s: list[float]
    low: list[float]
    high: list[float]


def answer_shares(state: TimelineState) -> AnswerShares:
    """At most ``COLUMNS`` steps, each of whole slices; together from the first answer to the last."""
    if not state.slices:
        return AnswerShares([0.0, 1.0], {who: [float("nan")] for who in SOURCES})
    first_s = state.slices[0].from_s
    slices = round((state.slices[-1].from_s - first_s) / state.slice_s) + 1
    width_s = state.slice_s * ceil(slices / COLUMNS)
    columns = [AnswerCounts() for _ in range(ceil(slices * state.slice_s / width_s))]
    for each in state.slices:
        columns[int((each.from_s - first_s) // width_s)].add(each.counts)
    edges_s = [first_s + number * width_s for number in range(len(columns) + 1)]
    return AnswerShares(edges_s, {who: [_share(column, who) for column in columns] for who in SOURCES})


def agreement_bounds(slices: Sequence[Slice]) -> Bounds:
    """The agreement that the audits had found at the end of each slice."""
    known = [(each.from_s, *each.agreement) for each in slices if each.agreement]
    return Bounds([at_s for at_s, _, _ in known], [low for _, low, _ in known], [high for _, _, high in known])


def class_rows(spans: Sequence[PhaseSpan]) -> dict[str, list[tuple[float, float]]]:
    """Class → when it was dominant, as (start, length) in seconds; in the order of their first time."""
    found: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for span in spans:
        for label in span.classes:
            found[label].append((span.from_s, span.to_s - span.from_s))
    longest = sorted(found, key=lambda label: -sum(length for _, length in found[label]))[:ROWS]
    return {label: times for label, times in found.items() if label in longest}


def _share(counts: AnswerCounts, who: Who) -> float:
    given: int = getattr(counts, who)
    return given / counts.answers if counts.answers else float("nan")
