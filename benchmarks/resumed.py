"""What it gains that the oracle goes on where a head has read, and does not begin anew (Shen, 2019, §5.2).

A head sits at an early cut of the oracle and passes on a share of the objects of every frame. Its network and the
oracle apart compute the first layers twice for these; in halves they compute them once. Both ways, and the oracle
alone, look at the same frames in turns. What is timed is all from the frame to the answers, in processor time of the
whole process. A head's own products take microseconds and are left out.
"""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Outcome, run
from operators.audits.roles import Roles
from operators.base import Call
from operators.decision import Decision
from operators.frames.frame import Frame, Region
from operators.recognise.classifier import Classifier
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.specialised.features import Features
from operators.testing import make_frame, make_region
from serving.backend import Backend
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.scheduling.estimates import ROUNDS as ROUNDS_KEPT
from serving.scheduling.requests import Urgency
from specialization.templates.derive import derived

MODELS = Path(__file__).parent / "weg_parts" / "models"
NETWORKS = ("vehicle-type", "plates", "vehicle-type-compact", "street-kind")
PASSED = (0, 1, 2, 4)
"""Objects of a frame that the head passes on."""
OBJECTS = 4
ROUNDS, QUICK_ROUNDS = 50, 8
FRAMES = 4
"""In a round, by each way; processor time is told in steps that are coarse for one."""
WAYS = ("alone", "apart", "in_halves")


class Node(NamedTuple):
    """What looks at objects, in one of the ways."""

    oracle: Oracle
    features: Features | None
    template: str

    async def look(self, frame: Frame, regions: Sequence[Region], passed: int) -> None:
        """Answer for all; the head, where there is one, passes on the last of them."""
        call, rest = Call(Decision(self.oracle.name), Urgency(math.inf)), regions
        if self.features is not None:
            _, halfway = await self.features.of_regions(self.template, frame, regions, call.urgency)
            call = replace(call, halfway=halfway)
            rest = regions[len(regions) - passed :]
        await self.oracle.answer(frame, rest, call)


def measure(quick: bool) -> Outcome:
    """Rows: processor time of a frame in each way, and the ratios."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    rows = [row for name in (NETWORKS[:1] if quick else NETWORKS) for row in asyncio.run(_rows(name, rounds))]
    gain = {f"{row['network']} {row['passed_share']:g}": row["gain"] for row in rows}
    return Outcome(rows, {"gain": gain}, partial(_draw, rows))


async def _rows(name: str, rounds: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        known = Catalogue([SHIPPED, MODELS, Path(folder)])
        made = derived(known.find(name), Path(folder))
        backend = Backend(known)
        await backend.start()
        try:
            nodes = await _nodes(backend, name, made.name, made.manifest.cost)
            return [await _row(name, nodes, passed, rounds) for passed in PASSED]
        finally:
            await backend.stop()


async def _nodes(backend: Backend, name: str, template: str, share: float) -> Mapping[str, Node]:
    recogniser = Classifier(backend, Roles.of([name], backend.card), "word")
    oracle, nodes = Oracle(recogniser), {}
    for way in WAYS:
        features = None
        if way != "alone":
            early = [template] if way == "in_halves" else []
            features = Features(backend, recogniser, {template: share}, early=early)
            await features.open(template)
            if early:
                await features.cut(template)
        nodes[way] = Node(oracle, features, template)
    frame, regions = _frame()
    for _ in range(2 * ROUNDS_KEPT):  # what each network takes is known then
        for node in nodes.values():
            await node.look(frame, regions[:1], 1)
    return nodes


async def _row(name: str, nodes: Mapping[str, Node], passed: int, rounds: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {way: [] for way in nodes}
    order = random.Random(passed)
    for _ in range(rounds):
        for way in order.sample(WAYS, len(WAYS)):
            seconds[way].append(await _seconds(nodes[way], passed))
    resumes = nodes["in_halves"].features
    assert resumes is not None
    ratios = [one / other for one, other in zip(seconds["apart"], seconds["in_halves"], strict=True)]
    return {
        "network": name,
        "objects": OBJECTS,
        "passed_share": passed / OBJECTS,
        **{f"{way}_ms": round(median(seconds[way]) * 1e3, 3) for way in WAYS},
        "goes_on": resumes.resumes(nodes["in_halves"].template),
        "gain": round(median(ratios), 3),
    }


async def _seconds(node: Node, passed: int) -> float:
    frame, regions = _frame()
    begun_s = time.process_time()
    for _ in range(FRAMES):
        await node.look(frame, regions, passed)
    return (time.process_time() - begun_s) / FRAMES


def _frame() -> tuple[Frame, list[Region]]:
    picture = np.random.default_rng(0).integers(0, 255, (480, 640, 3)).astype(np.uint8)
    regions = [make_region(x=0.05 + place * 0.24, w=0.2, h=0.25, id=place) for place in range(OBJECTS)]
    return make_frame(image=picture), regions


def _draw(rows: Sequence[Mapping[str, Any]], figure: Any) -> None:
    axes = figure.subplots()
    for network in dict.fromkeys(row["network"] for row in rows):
        mine = [row for row in rows if row["network"] == network]
        axes.plot([row["passed_share"] for row in mine], [row["gain"] for row in mine], marker="o", label=network)
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(xlabel="share of the objects that the head passes on", ylabel="processor time, apart / in halves")
    axes.set_title("The oracle goes on where a head has read")
    axes.legend(fontsize=8)


if __name__ == "__main__":
    run("resumed", measure, __doc__ or "")
