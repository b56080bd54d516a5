"""Specialization in a run's report, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table

TOLD = 8
"""Spans of a stream that are told of, the latest."""
NAMED = 6
"""Classes of a span that are named."""


def table(nodes: Iterable[Mapping[str, Any]]) -> Table:
    """The columns of table 5.4 (Shen, 2019), and the saving."""
    found = Table("specialised", box=None)
    for column in ("special", "cascade", "set in", "classes", "window", "saved", "speed-up"):
        found.add_column(column, justify="right", no_wrap=True)
    for node in nodes:
        found.add_row(
            f"{node['stream']} {node['node']}",
            f"{node['special_rate']:.1%}",
            _told(node["cascade_rate"], ".1%"),
            str(node["transitions"]),
            _told(node["mean_dominant"], ".1f"),
            _told(node["mean_window"], ".1f"),
            _told(node["saving"], ".1%"),
            _told(node["speedup"], ".2f"),
        )
    return found


def stories(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Who answered when, a line for each stream and node that was specialised."""
    return [
        f"{node['stream']} {node['node']}: {_story(node['spans'], node['forgotten_spans'])}"
        for node in nodes
        if node["transitions"]
    ]


def _story(spans: Sequence[Mapping[str, Any]], forgotten: int) -> str:
    """The oracle's phases as one."""
    groups = [(who, list(those)) for who, those in groupby(spans, _who)]
    latest = [f"{those[0]['from_s']:.0f}–{those[-1]['to_s']:.0f} s {who}" for who, those in groups[-TOLD:]]
    return "; ".join(["…"] * (forgotten > 0 or len(groups) > TOLD) + latest)


def _who(span: Mapping[str, Any]) -> str:
    if span["phase"] != "specialised":
        return "oracle"
    classes = span["classes"]
    more = len(classes) - NAMED
    return ", ".join(classes[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _told(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
