"""The share of the time that is left for each network's requests, by the split that needs the fewest workers.

Proportional shares give time to what takes long. What gains most from time is what is asked most often and runs much
faster in larger batches: with the α that was measured, the objects of a frame, ``best_split`` finds the shares with
which a number of workers serves the most frames (Shen, 2019, §3.4.2). Where a network's times are not known, or no
split meets the SLO, there is none, and the shares are proportional to what was taken. Pure but for what it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pipelines.planning.latency_split import LatencySplit, Stage, batch_throughput, best_split
from pipelines.planning.node_times import FanOut

Curves = Callable[[str], Mapping[int, float] | None]
"""Seconds by batch of a model, None where they are not known."""


def unknown(_model: str) -> Mapping[int, float] | None:
    return None


EVERY = 300
"""Frames from one split to the next."""
CHANGED = 0.1
"""A smaller change of every α changes no split."""
LEAST = 1e-6
"""An α that is 0 at present may come back."""


def in_stages(
    groups: Sequence[Sequence[str]], curves: Mapping[str, Mapping[int, float]], items: Mapping[str, float]
) -> list[Stage]:
    """The networks of a query: those that run last beside each other, and before them each behind the one before it.

    ``curves``: seconds by batch of each node with a network; ``items``: what it is asked for each frame, 1 if not said.
    """
    found: list[Stage] = []
    known = [[name for name in group if name in curves] for group in groups]
    known = [group for group in known if group]
    for place, group in enumerate(known):
        before = found[-1].name if found else None
        for name in group:
            alpha = items.get(name, 1.0) / (items.get(before, 1.0) if before is not None else 1.0)
            found.append(Stage(name, before, alpha, batch_throughput(curves[name])))
            before = before if place == len(known) - 1 else name
    return found


class StageShares:
    def __init__(
        self, groups: Sequence[Sequence[str]], models: Mapping[str, str], slo_s: float, curves: Curves
    ) -> None:
        """``models``: of the nodes with a network, the one whose times count."""
        self._groups, self._models, self._slo_s, self._curves = groups, models, slo_s, curves
        self._items = {name: FanOut() for name in models}
        self._split_for: dict[str, float] = {}
        self._frames = 0
        self._shares: dict[str, float] = {}

    def observe(self, items: Mapping[str, int]) -> None:
        """Take in for how many items nodes were asked on one frame."""
        for name, each in self._items.items():
            each.observe(1, items.get(name, 0))
        if len(self._models) > 1 and self._frames % EVERY == 0:
            self._again()
        self._frames += 1

    def of(self, node: str) -> float:
        """The node's part of the time until the deadline, 0 to 1; 0 where it is not known."""
        return self._shares.get(node, 0.0)

    def _again(self) -> None:
        items = {name: max(each.alpha, LEAST) for name, each in self._items.items()}
        same = [abs(now - self._split_for.get(name, 0.0)) <= CHANGED * now for name, now in items.items()]
        if self._shares and all(same):
            return
        curves = {name: curve for name, model in self._models.items() if (curve := self._curves(model))}
        split = None
        if len(curves) == len(self._models):
            stages = in_stages(self._groups, curves, items)
            split = best_split(stages, self._slo_s)
        self._split_for, self._shares = items, {} if split is None else dict(_shares(stages, split))


def _shares(stages: Sequence[Stage], split: LatencySplit) -> Mapping[str, float]:
    """Each budget as a part of it and the longest of what follows."""
    after_s: dict[str, float] = {stage.name: 0.0 for stage in stages}
    for stage in reversed(stages):
        if stage.source is not None:
            whole_s = split.budgets_s[stage.name] + after_s[stage.name]
            after_s[stage.source] = max(after_s[stage.source], whole_s)
    return {name: budget_s / (budget_s + after_s[name]) for name, budget_s in split.budgets_s.items()}
