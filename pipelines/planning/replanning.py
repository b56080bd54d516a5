"""The planner of queries in which a node lists several models: every frame is planned anew before each such node.

Groups of nodes run one after the other, and the nodes of one at the same time: of these the slowest counts, in times
that were taken beside the others. A node with several models gets its share of the time that is left, by what it and
the groups after it seldom exceed, and the decision is a ladder: each model with the most objects that it has time for.
Nodes that have had no objects on the same frame of late, as recognisers of different things, do not each keep
time from the nodes before them: the ones that take longest do. Pure but for its state, which is what it has seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from operators.decision import Decision, Rung
from operators.wire.schema import Fallback
from pipelines.planning.node_times import FanOut, ModelTimes, NodeTimes
from pipelines.planning.options import Table, TimeRange
from pipelines.planning.pace import ArrivalPace
from pipelines.planning.plan import Load, fill
from pipelines.planning.planner import Planner, Start, Step

TOGETHER = 64
"""Frames after which it is forgotten that nodes had objects on the same one; before so many all may have."""


@dataclass(slots=True)
class _StreamLoad:
    objects: Mapping[str, FanOut]
    """Objects that a node looks at, for each frame on which it has any."""
    asked: Mapping[str, FanOut]
    """By node, the share of the frames on which it has any; a detector may skip frames."""
    together: deque[int]
    """By frame, the places of the nodes that had something to do, as bits."""
    pace: ArrivalPace = field(default_factory=ArrivalPace)
    ended: int = 0
    """Nodes that have ended for the latest frame; ``busy``: the places of those that had something to do."""
    busy: int = 0
    deadline_s: float = 0.0
    load: Load | None = None
    """The load of the latest frame; None before the first."""
    least_s: list[float] = field(default_factory=list)
    """Seconds of the fastest model of each node for it; ``longest_s``: of the slowest."""
    longest_s: list[float] = field(default_factory=list)
    droppable: bool = False
    hurried: bool = False


class Replanning(Planner):
    """Plans with tables of what was measured of models; nodes without a table run their first listed model."""

    def __init__(
        self, groups: Sequence[Sequence[str]], tables: Mapping[str, Table], answers_tracks: Mapping[str, bool]
    ) -> None:
        """``groups``: in the order in which they run, the nodes that run at the same time.

        ``answers_tracks``: by node, whether answers are for tracks.
        """
        nodes = self._nodes = tuple(node for group in groups for node in group)
        self._place = {node: place for place, node in enumerate(nodes)}
        self._groups = tuple(tuple(self._place[node] for node in group) for group in groups)
        self._later = {self._place[node]: self._groups[at + 1 :] for at, group in enumerate(groups) for node in group}
        """By the place of a node, the places of those after it."""
        self._answers_tracks = answers_tracks
        self._measured = dict(tables)
        self._models = {node: ModelTimes() for node in tables}
        self._times = {node: NodeTimes() for node in nodes}
        self._streams: dict[str, _StreamLoad] = {}

    def learn(self, node: str, table: Table) -> None:
        """Models of a node were measured; where they take another time than before, what was learnt holds no more."""
        before = self._measured.get(node)
        known = {each.variant: each for each in before.options} if before else {}
        if node not in self._models or any(known.get(each.variant, each) != each for each in table.options):
            self._models[node] = ModelTimes()
        self._measured[node] = table

    def ratio(self, node: str) -> float | None:
        """A node's recent times as a multiple of measured ones; None as long as there are none."""
        times = self._models.get(node)
        return None if times is None else times.ratio

    def arrived(self, stream: str, now_s: float) -> None:
        self._known(stream).pace.arrived(now_s)

    def begins(self, start: Start) -> None:
        """Take the deadline of the frame, sooner where the stream hurries."""
        known = self._known(start.stream)
        known.droppable = start.droppable
        deadline_s = start.deadline_s
        known.hurried = False
        if start.droppable:
            limit_s = known.pace.limit_s(start.now_s, start.waiting_s, self._best_s(known), start.crowded)
            if limit_s is not None:
                deadline_s = min(deadline_s, start.now_s + limit_s)
                known.hurried = True
        known.deadline_s, known.load = deadline_s, self._load(known)
        if known.ended == len(self._nodes):
            known.together.append(known.busy)
        known.ended, known.busy = 0, 0
        times = [self._takes(node, known.load) for node in self._nodes]
        known.least_s, known.longest_s = [each.least_s for each in times], [each.longest_s for each in times]

    def plan(self, step: Step) -> Decision:
        known = self._known(step.stream)
        table = self._measured.get(step.node)
        if known.load is None or table is None:
            return super().plan(step)
        place, left_s = self._place[step.node], max(known.deadline_s - step.now_s, 0.0)
        longest_s, least_s = self._after(known, place, step.idle)
        budget_s = fill((known.longest_s[place], longest_s), (known.least_s[place], least_s), left_s)[0]
        most_s, (extra_s, factor) = known.load.measured_s(step.node, budget_s), self._models[step.node].tail_line
        ones = zip(table.options, table.seconds(1), strict=True)
        ladder = [Rung(option.variant, option.most(most_s), extra_s + factor * one_s) for option, one_s in ones]
        return Decision(
            ladder[0].model,
            budget_ms=1000 * budget_s,
            why="nothing to look at",
            hurried=known.hurried,
            ladder=ladder,
            fallback=fallback_of(known.droppable, self._answers_tracks.get(step.node, False)),
        )

    def ended(self, stream: str, node: str, took_s: float, plan: Decision) -> Mapping[str, float]:
        """Learn from the time that the node took."""
        table, known = self._measured.get(node), self._known(stream)
        known.ended += 1
        if table is None or plan.objects is not None:
            known.busy |= 1 << self._place[node]
        if table is None:
            self._times[node].observe(took_s)
            return {}
        known.asked[node].observe(1, int(plan.objects is not None))
        if plan.objects is None:
            return {}
        known.objects[node].observe(1, plan.objects)
        (extra_s, factor), seconds = self._models[node].tail_line, table.seconds(plan.objects)
        if plan.objects and plan.variant in table.variants:
            self._models[node].observe(seconds[table.variants.index(plan.variant)], took_s)
        pairs = zip(table.variants, seconds, strict=True)
        return {variant: extra_s + factor * measured_s for variant, measured_s in pairs}

    def forget(self, stream: str) -> None:
        self._streams.pop(stream, None)

    def _known(self, stream: str) -> _StreamLoad:
        known = self._streams.get(stream)
        if known is None:
            known = self._streams[stream] = _StreamLoad(
                objects={node: FanOut() for node in self._nodes},
                asked={node: FanOut() for node in self._nodes},
                together=deque([(1 << len(self._nodes)) - 1] * TOGETHER, maxlen=TOGETHER),
            )
        return known

    def _after(self, known: _StreamLoad, place: int, idle: Collection[str]) -> tuple[float, float]:
        """The time of the nodes after one together, by their slowest models and by their fastest."""
        longest_s = least_s = 0.0
        for busy in set(known.together):
            longest = least = 0.0
            for group in self._later[place]:
                slowest = fastest = 0.0
                for at in group:
                    if busy >> at & 1 and self._nodes[at] not in idle:
                        slowest = known.longest_s[at] if known.longest_s[at] > slowest else slowest
                        fastest = known.least_s[at] if known.least_s[at] > fastest else fastest
                longest, least = longest + slowest, least + fastest
            if longest > longest_s:
                longest_s = longest
            if least > least_s:
                least_s = least
        return longest_s, least_s

    def _load(self, known: _StreamLoad) -> Load:
        objects = {node: ceil(each.alpha) for node, each in known.objects.items()}
        lines = {node: each.tail_line for node, each in self._models.items()}
        slowdown = {node: factor for node, (_, factor) in lines.items()}
        return Load(objects, slowdown, {node: extra_s for node, (extra_s, _) in lines.items()})

    def _best_s(self, known: _StreamLoad) -> float:
        """The mean time of a frame by the models that are wanted most."""
        return sum(max(self._mean_s(self._nodes[at], known) for at in group) for group in self._groups)

    def _mean_s(self, node: str, known: _StreamLoad) -> float:
        table = self._measured.get(node)
        if table is None:
            return self._times[node].mean
        measured_s = table.options[0].takes_s(ceil(known.objects[node].alpha))
        return known.asked[node].alpha * self._models[node].mean_s(measured_s)

    def _takes(self, node: str, load: Load) -> TimeRange:
        """Seconds of the fastest and of the slowest model of a node; of one without a choice, what it takes."""
        table = self._measured.get(node)
        if table is not None:
            return load.times(node, table)
        tail_s = self._times[node].tail
        return TimeRange(tail_s, tail_s)


def fallback_of(droppable: bool, answers_tracks: bool) -> Fallback:
    """The policy of a node: late answers are worth nothing where frames may be dropped; answers of tracks can wait."""
    if droppable:
        return "drop"
    return "reuse" if answers_tracks else "cheapest"
