"""The planner of queries in which a node lists several models: every frame is planned anew before each such node.

The nodes of a frame run one after the other, so there is one path (``plan.py`` has the general case). A node with
several models gets its share of the time that is left, by what all remaining nodes seldom exceed, and the decision is a
ladder: each model with the most objects that it has time for. Pure but for its state, which is what it has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from operators.base import Call
from operators.plan import Decision, Rung
from operators.wire.schema import Fallback
from pipelines.planning.fallback import fallback_of
from pipelines.planning.fan_out import FanOut
from pipelines.planning.node_times import ModelTimes, NodeTimes
from pipelines.planning.options import Option, Table
from pipelines.planning.pace import Pace
from pipelines.planning.plan import FramePlan, Load, Terms, plan, replan
from pipelines.planning.planner import FirstListed, Start, Step

DRIFT = 1.1
"""A node without a choice is planned anew with another time once that has changed by this factor."""


@dataclass(slots=True)
class _Stream:
    """What is known of one stream."""

    pace: Pace = field(default_factory=Pace)
    objects: dict[str, FanOut] = field(default_factory=dict)
    """Objects that a node looks at, for each frame on which it has any."""
    asked: dict[str, FanOut] = field(default_factory=dict)
    """By node, the share of the frames on which it has any; a detector may skip frames."""
    frame: FramePlan | None = None
    ended_s: dict[str, float] = field(default_factory=dict)
    droppable: bool = False
    hurried: bool = False


class Replanning:
    """Plans with tables of what was measured of models; nodes without a table run their first listed model."""

    def __init__(self, nodes: Sequence[str], tables: Mapping[str, Table], answers_tracks: Mapping[str, bool]) -> None:
        """``nodes``: in the order in which they run. ``answers_tracks``: by node, whether answers are for tracks."""
        self._nodes = tuple(nodes)
        self._answers_tracks = answers_tracks
        self._measured = dict(tables)
        self._models = {node: ModelTimes() for node in tables}
        self._times = {node: NodeTimes() for node in nodes}
        self._fixed: dict[str, float] = {}
        self._streams: dict[str, _Stream] = {}
        self._terms = self._made()
        self._first_listed = FirstListed()

    def learn(self, node: str, table: Table) -> None:
        """Models of a node were measured."""
        self._models.setdefault(node, ModelTimes())
        self._measured[node] = table
        self._terms = self._made()

    def arrived(self, stream: str, now_s: float) -> None:
        """See ``Planner``."""
        self._known(stream).pace.arrived(now_s)

    def begins(self, start: Start) -> None:
        """See ``Planner``."""
        known = self._known(start.stream)
        known.ended_s, known.droppable = {}, start.droppable
        deadline_s = start.deadline_s
        known.hurried = False
        if start.droppable:
            limit_s = known.pace.limit_s(start.now_s, start.waiting_s, self._best_s(known), start.crowded)
            if limit_s is not None:
                deadline_s = min(deadline_s, start.now_s + limit_s)
                known.hurried = True
        known.frame = plan(self._terms, deadline_s, self._load(known), start.now_s)

    def plan(self, step: Step) -> Decision:
        """See ``Planner``."""
        known = self._known(step.stream)
        table = self._measured.get(step.node)
        if known.frame is None or table is None:
            return self._first_listed.plan(step)
        known.ended_s.update(dict.fromkeys(self._before(step.node), step.now_s))
        known.frame = replan(known.frame, known.ended_s)
        budget_s = max(known.frame.choices[step.node].budget_s, 0.0)
        most_s, models = known.frame.load.measured_s(step.node, budget_s), self._models[step.node]
        ladder = [Rung(each.variant, each.most(most_s), models.tail_s(each.takes_s(1))) for each in table.options]
        return Decision(
            ladder[0].model,
            budget_ms=1000 * budget_s,
            why="nothing to look at",
            hurried=known.hurried,
            ladder=ladder,
            fallback=self._fallback(step.node, known),
        )

    def ended(self, stream: str, node: str, took_s: float, call: Call) -> None:
        """See ``Planner``."""
        table = self._measured.get(node)
        if table is None:
            self._times[node].observe(took_s)
            self._follow(node, self._times[node].tail)
            return
        known = self._known(stream)
        known.asked.setdefault(node, FanOut()).observe(1, int(call.objects is not None))
        if call.objects is None:
            return
        known.objects.setdefault(node, FanOut()).observe(1, call.objects)
        models = self._models[node]
        call.expected_s = {each.variant: models.tail_s(each.takes_s(call.objects)) for each in table.options}
        option = next((each for each in table.options if each.variant == call.model), None)
        if option is not None and call.objects:
            models.observe(option.takes_s(call.objects), took_s)

    def forget(self, stream: str) -> None:
        """See ``Planner``."""
        self._streams.pop(stream, None)

    def _known(self, stream: str) -> _Stream:
        return self._streams.setdefault(stream, _Stream())

    def _before(self, node: str) -> Sequence[str]:
        return self._nodes[: self._nodes.index(node)]

    def _fallback(self, node: str, known: _Stream) -> Fallback:
        return fallback_of(known.droppable, self._answers_tracks.get(node, False))

    def _load(self, known: _Stream) -> Load:
        objects = {node: ceil(each.alpha) for node, each in known.objects.items()}
        return Load(
            objects,
            {node: each.tail * each.slowdown for node, each in self._models.items()},
            {node: each.tail * each.extra_s for node, each in self._models.items()},
        )

    def _best_s(self, known: _Stream) -> float:
        """What a frame takes in the mean by the models that are wanted most."""
        seconds = 0.0
        for node, times in self._times.items():
            if node in self._measured:
                objects = ceil(known.objects[node].alpha) if node in known.objects else 1
                asked = known.asked[node].alpha if node in known.asked else 1.0
                seconds += asked * self._models[node].mean_s(self._measured[node].options[0].takes_s(objects))
            else:
                seconds += times.mean
        return seconds

    def _follow(self, node: str, tail_s: float) -> None:
        """Plan with another time for a node without a choice, where it has changed by much."""
        known_s = self._fixed.get(node, 0.0)
        if not known_s / DRIFT <= tail_s <= known_s * DRIFT:
            self._fixed[node] = tail_s
            self._terms = self._made()

    def _made(self) -> Terms:
        fixed = {node: Table((Option.fixed(node, None, self._fixed.get(node, 0.0)),)) for node in self._nodes}
        return Terms((self._nodes,), {**fixed, **self._measured})
