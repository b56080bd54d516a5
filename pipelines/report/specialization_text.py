"""Specialization in a run's report, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.table import Table

from operators.wire.schema import ProcessorSeconds
from pipelines.report.run_report import SpanReport, SpecializationReport

SHOWN = 8
"""How many spans of a stream are shown: the latest."""
NAMED = 6
"""Classes of a span that are named."""


def table(nodes: Iterable[SpecializationReport]) -> Table:
    """The columns of table 5.4 (Shen, 2019), and the net saving in processor seconds."""
    found = Table("specialised", box=None, collapse_padding=True, pad_edge=False)
    for column in ("special", "cascade", "set in", "classes", "window", "saved", "share", "speed-up"):
        found.add_column(column, justify="right", no_wrap=True)
    for node in nodes:
        figures = node.figures
        found.add_row(
            f"{node.stream} {node.node}",
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


def stories(nodes: Iterable[SpecializationReport]) -> list[str]:
    """Who answered when, or why no exit does: a line for each stream and node of which there is something to tell."""
    return [f"{node.stream} {node.node}: {line}" for node in nodes for line in _lines(node)]


def _lines(node: SpecializationReport) -> Iterator[str]:
    if node.figures.transitions:
        yield _story(node.spans, node.forgotten_spans)
    if node.figures.reason:
        yield node.figures.reason


def _seconds(account: ProcessorSeconds | None) -> str:
    """The net saving; nothing before the oracle has answered."""
    return "–" if account is None or not account.oracle + account.avoided else f"{account.saved:.1f} s"


def _story(spans: Sequence[SpanReport], forgotten: int) -> str:
    """The oracle's phases as one."""
    groups = [(who, list(those)) for who, those in groupby(spans, _who)]
    latest = [f"{those[0].from_s:.0f}–{those[-1].to_s:.0f} s {who}" for who, those in groups[-SHOWN:]]
    return "; ".join(["…"] * (forgotten > 0 or len(groups) > SHOWN) + latest)


def _who(span: SpanReport) -> str:
    if span.phase != "specialised":
        return "oracle"
    more = len(span.classes) - NAMED
    return ", ".join(span.classes[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
