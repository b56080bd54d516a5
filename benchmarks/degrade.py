"""Degrade, then drop: frames that come faster than the best model holds, with ``overload: drop_late``.

The product's executor, lane, planner and chain run in real time on networks that sleep as long as ours were measured to
take, one batch at a time, so that other work on the machine does not count. Frames of four objects come for a while at
half of what the best model holds, then at one and a half times that, then at half of it again. Both ways get the same
frames: the planner with both models listed, and the first listed model alone, which can only drop.

A frame that is answered counts with the accuracy of the model that looked at its objects (the models' cards), a dropped
one with none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from cache_adapt.audit.state import AuditState, Rule
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.audits.unit_costs import UnitCosts
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.variants import VariantShortcut
from operators.testing import FakeEngine, card_of, make_frame, make_region, scores
from operators.wire.schema import FrameHeader, Result
from pipelines.execute.executor import Executor
from pipelines.execute.surroundings import Limits, Surroundings
from pipelines.planning.options import Option, Table
from pipelines.planning.planner import Planner
from pipelines.planning.replanning import Replanning
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from serving.common.clock import SYSTEM
from serving.engines.exits import RowPolicy
from serving.scheduling.estimates import LatencyTable
from serving.scheduling.requests import Urgency

TIMES_S = {"large": {1: 0.00731, 8: 0.04719}, "small": {1: 0.00106, 8: 0.00505}}
"""Seconds that ``vehicle-type`` and ``vehicle-type-compact`` take for so many items (``results/engines.csv``)."""
ACCURACY = {"large": 0.8922, "small": 0.8104}
"""Top-1 on the test photos, from their cards."""
DETECT_S, OBJECTS, SLO_MS = 0.004, 4, 150
PLANNED, ALONE = "planned", "first listed"
PHASES = (("calm", 0.5), ("overload", 1.5), ("calm again", 0.5))
"""With the rate as a share of what the best model holds."""
SECONDS, QUICK_SECONDS = 20.0, 3.0
TABLES = {model: LatencyTable(points) for model, points in TIMES_S.items()}
BEST_S = DETECT_S + TABLES["large"](OBJECTS)
QUERY = Query.model_validate(
    {
        "version": 1,
        "name": "degrade",
        "slo_ms": SLO_MS,
        "streams": [{"id": "cam", "uri": "cam.mp4", "overload": "drop_late"}],
        "nodes": [
            {"name": "detect", "task": "detect", "model": "motion"},
            {"name": "type", "task": "recognise", "input": "detect", "model": ["large", "small"]},
        ],
    }
)


class Sleeping(FakeEngine):
    """Networks that take their time one after the other, and always say the same."""

    def __init__(self) -> None:
        says = [scores(["blue"])]
        cards = {"large": card_of("large", tier="reference"), "small": card_of("small", tier="compact")}
        super().__init__(**{name: (card, lambda batch: says) for name, card in cards.items()})
        self._device = asyncio.Lock()

    async def infer(
        self,
        model: str,
        batch: NDArray[Any],
        urgency: Urgency,
        policy: RowPolicy | None = None,
    ) -> list[NDArray[Any]]:
        """Sleep as long as the network would run."""
        async with self._device:
            await asyncio.sleep(TABLES[model](len(batch)))
        return [scores(["blue"] * len(batch))]


class Finding:
    """A detector that finds four objects."""

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """See ``Operator``."""
        await asyncio.sleep(DETECT_S)
        return [make_region(0.2 * place + 0.02, label="moving") for place in range(OBJECTS)]

    def forget(self, stream: str) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one frame."""

    phase: str
    result: Result

    @property
    def in_time(self) -> bool:
        """Whether it was answered before its deadline."""
        return self.result.outcome == "analysed" and self.result.plan.deadline_met

    @property
    def accuracy(self) -> float:
        """Share of the frame's answers that are right; 0 for a frame without answers."""
        looked = [attribute.model.name for found in self.result.objects for attribute in found.attributes]
        return fmean(ACCURACY[name] for name in looked) if self.in_time and looked else 0.0


def measure(quick: bool) -> harness.Outcome:
    """Both ways, one after the other: they would share the loop."""
    seconds = QUICK_SECONDS if quick else SECONDS
    found = {way: asyncio.run(_run(way, seconds)) for way in (PLANNED, ALONE)}
    rows = [row(way, phase, answers) for way, answers in found.items() for phase, _ in PHASES]
    return harness.Outcome(rows, headline(rows), partial(_draw, found))


async def _run(way: str, seconds: float) -> list[Answer]:
    executor = _executor(way)
    loop, tasks, seq = asyncio.get_running_loop(), list[tuple[str, asyncio.Task[Result]]](), 0
    due_s = loop.time()
    for phase, share in PHASES:
        ends_s = due_s + seconds
        while due_s < ends_s:
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            tasks.append((phase, asyncio.create_task(_submit(executor, seq, max(0.0, loop.time() - due_s)))))
            due_s, seq = due_s + BEST_S / share, seq + 1
    return [Answer(phase, await task) for phase, task in tasks]


async def _submit(executor: Executor, seq: int, late_s: float) -> Result:
    """One frame, captured when it was due."""
    captured = SYSTEM.now() - timedelta(seconds=late_s)
    header = FrameHeader(
        stream="cam",
        run="run",
        seq=seq,
        width=160,
        height=120,
        media_time_s=seq * BEST_S,
        captured_at=captured,
        encoding="bgr24",
    )
    return await executor.submit(header, lambda: make_frame(seq, seq * BEST_S))


def _executor(way: str) -> Executor:
    engine = Sleeping()
    recogniser = Classifier(engine, Roles.of(["large", "small"], engine.card), "type")
    networks = ChainNetworks(recogniser, UnitCosts(engine), [VariantShortcut(recogniser, "small")])
    chain = Chain("type", networks, ChainTerms(Rule(0.9)))
    served = {"variant small": AuditState(phase="probation")}
    chain.restore("cam", NodeSnapshot(oracle=recogniser.roles.identity, audits=served).to_json())
    planner: Planner = Planner()
    if way == PLANNED:
        table = Table(tuple(Option.of(model, None, TABLES[model]) for model in ("large", "small")))
        planner = Replanning([["detect"], ["type"]], {"type": table}, {})
    dag = compile_dag(QUERY)
    limits = Limits({"cam": "drop_late"})
    return Executor(dag, {"detect": Finding(), "type": chain}, planner, limits, Surroundings())


def row(way: str, phase: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """One way in one phase."""
    mine = [each for each in answers if each.phase == phase]
    answered = [each.accuracy for each in mine if each.in_time]
    return {
        "way": way,
        "phase": phase,
        "frames": len(mine),
        "in_time_share": round(fmean(each.in_time for each in mine), 4),
        "dropped_share": round(fmean(each.result.outcome == "dropped" for each in mine), 4),
        "accuracy_answered": round(fmean(answered), 4) if answered else 0.0,
        "accuracy_all": round(fmean(each.accuracy for each in mine), 4),
    }


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """Both ways under overload, and whether the best model came back."""
    overload = {each["way"]: each for each in rows if each["phase"] == "overload"}
    again = next(each for each in rows if (each["way"], each["phase"]) == (PLANNED, "calm again"))
    return {
        "in_time_share": {way: each["in_time_share"] for way, each in overload.items()},
        "accuracy_all": {way: each["accuracy_all"] for way, each in overload.items()},
        "accuracy_after": again["accuracy_answered"],
    }


def _draw(found: dict[str, list[Answer]], figure: Any) -> None:
    axes = figure.subplots(len(found), 1, sharex=True)
    for axis, (way, answers) in zip(axes, found.items(), strict=True):
        times_s = np.array([each.result.frame.captured_at.timestamp() for each in answers])
        colours = [
            "#2a7" if each.accuracy > ACCURACY["small"] else "#fb0" if each.in_time else "#c22" for each in answers
        ]
        latency_ms = [each.result.plan.latency_ms for each in answers]
        axis.scatter(times_s - times_s[0], latency_ms, s=4, c=colours)
        axis.axhline(SLO_MS, color="grey", linewidth=0.5)
        axis.set_title(f"{way}: green the best model, yellow the cheaper one, red dropped or late", fontsize=8)
        axis.set_ylabel("capture to result, ms", fontsize=7)
    axes[-1].set_xlabel("seconds; overload in the middle third", fontsize=7)


if __name__ == "__main__":
    harness.run("degrade", measure, __doc__ or "")
