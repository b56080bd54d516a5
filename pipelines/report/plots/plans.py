"""A picture of the plans of a stream: which model each node with a choice ran when, in what time, of what budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from operators.wire.schema import Result
from serving.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 4000
"""Points of a node that are kept; of more, every second one, and so on."""
MOST_NODES = 400
"""Nodes of streams that are kept."""
COLOURS = ("#2f9468", "#33527f", "#e0a02c", "#7b4fa3", "#1d9aa8", "#a5552a")
BARRED = "#c0392b"
WIDTH_IN, NODE_IN = 10.0, 2.6


class Point(NamedTuple):
    """One frame at one node."""

    at_s: float
    """Media time."""
    model: str
    budget_ms: float
    took_ms: float
    fits: bool
    """Whether the model had the time; else a policy decided."""


class Series:
    """The frames of one node of a stream, evenly thinned out where they are many."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._every, self._passed = 1, 0

    def add(self, point: Point) -> None:
        """Take the next frame."""
        self._passed += 1
        if self._passed % self._every:
            return
        self.points.append(point)
        if len(self.points) >= MOST_POINTS:
            self.points, self._every = self.points[1::2], 2 * self._every


class PlanHistory:
    """Collects what results say of nodes that have a choice; a sink of a run."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[str, str], Series] = {}
        """By stream and node."""

    def write(self, result: Result) -> None:
        """Take the next result."""
        for name, node in result.plan.nodes.items():
            took_ms = result.plan.stages_ms.get(name)
            if node.objects is None or not node.objects or node.budget_ms is None or took_ms is None:
                continue
            key = result.stream, name
            if key not in self.nodes and len(self.nodes) >= MOST_NODES:
                continue
            point = Point(result.frame.media_time_s, node.variant, node.budget_ms, took_ms, node.cause is None)
            self.nodes.setdefault(key, Series()).add(point)

    def save_all(self, directory: Path) -> list[Path]:
        """A picture for each stream that had a choice; BadInput where it cannot be written."""
        streams: dict[str, dict[str, Sequence[Point]]] = {}
        for (stream, node), series in self.nodes.items():
            streams.setdefault(stream, {})[node] = series.points
        return [_saved(directory / f"{stream}-plans.png", nodes) for stream, nodes in streams.items()]


def _saved(path: Path, nodes: Mapping[str, Sequence[Point]]) -> Path:
    from matplotlib.figure import Figure  # heavy: others need not wait for it

    figure = Figure(figsize=(WIDTH_IN, NODE_IN * len(nodes)), layout="constrained", facecolor="white")
    draw(figure, nodes)
    try:
        figure.savefig(path, format="png", dpi=130)
    except OSError as error:
        raise BadInput(f"--plots {path.parent}: {path.name} cannot be written ({error.strerror})") from None
    return path


def draw(figure: Figure, nodes: Mapping[str, Sequence[Point]]) -> None:
    """Draw the nodes below each other on an empty figure."""
    rows: Any = figure.subplots(len(nodes), 1, sharex=True, squeeze=False)
    for axes, (name, points) in zip(rows[:, 0], nodes.items(), strict=True):
        axes.step([each.at_s for each in points], [each.budget_ms for each in points], color="#c8ced6", label="budget")
        models = list(dict.fromkeys(each.model for each in points))
        for place, model in enumerate(models):
            mine = [each for each in points if each.model == model]
            colour = COLOURS[place % len(COLOURS)]
            axes.scatter([each.at_s for each in mine], [each.took_ms for each in mine], s=6, color=colour, label=model)
        short = [each for each in points if not each.fits]
        if short:
            places = [each.at_s for each in short], [each.took_ms for each in short]
            axes.scatter(
                *places, s=18, facecolors="none", edgecolors=BARRED, linewidths=0.6, label="no model had the time"
            )
        axes.set_title(f"{name}: what it took and might take, ms", fontsize=8)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=6, loc="upper right")
    rows[-1, 0].set_xlabel("media time, s", fontsize=7)
