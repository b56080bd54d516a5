"""``sluice run`` whose reference takes 300 ms, as a process of its own.

The reference runs here, and the clock by which its looks are timed is put forward by 300 ms for each call: exits are
weighed as if frames had waited, and a street of twenty minutes takes some minutes. Looks that go to it are counted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from operators.inference import Inference
from operators.recognise.remote_reference import RemoteReference
from pipelines.environment import backend, catalogue
from pipelines.query.compiled import CompiledQuery, compiled
from pipelines.query.query_file import Query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.backend import Backend
from serving.catalogue.cards import ModelCard
from serving.common.clock import SystemClock
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.tensors import Array
from serving.engines.exits import RowPolicy
from serving.graphs.surgery.sizes import Size
from serving.scheduling.requests import Urgency
from serving.variants.timings import VariantFigures
from serving.variants.variant import placed

FAR_S = 0.3


class FarClock(SystemClock):
    """Goes on by itself, and is put forward for calls."""

    ahead_s = 0.0

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self.ahead_s


class FarEngine:
    """The engine of this process; models on the backend take their time and are counted."""

    def __init__(self, here: Backend, clock: FarClock) -> None:
        self._here, self._clock = here, clock
        self.looks = {"frames wait for": 0, "in the background": 0}

    @property
    def hung(self) -> asyncio.Event:
        return self._here.hung

    async def start(self) -> None:
        await self._here.start()

    async def stop(self) -> None:
        await self._here.stop()

    def card(self, model: str) -> ModelCard:
        return self._here.card(placed(model)[0])

    def place_of(self, model: str) -> str:
        return model

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        return await self._here.fitted(placed(model)[0], width, height, detail)

    def add_cuts(self, model: str, cuts: Sequence[str]) -> str:
        return self._here.add_cuts(model, cuts)

    async def load(self, model: str) -> float:
        return await self._here.load(placed(model)[0])

    async def infer(
        self,
        model: str,
        batch: Array,
        urgency: Urgency,
        early: asyncio.Future[list[Array]] | None = None,
        policy: RowPolicy | None = None,
    ) -> list[Array]:
        served, place = placed(model)
        outputs = await self._here.infer(served, batch, urgency, early, policy)
        if place is not None:
            self.looks["in the background" if urgency.background else "frames wait for"] += len(batch)
            self._clock.ahead_s += 0.0 if urgency.background else FAR_S
        return outputs

    def measured(self, model: str) -> VariantFigures | None:
        return VariantFigures({1: FAR_S}, None) if placed(model)[1] else self._here.measured(model)

    def keep(self, model: str, tail_s: Mapping[int, float]) -> VariantFigures:
        return self._here.keep(placed(model)[0], tail_s)

    def processor_s(self, model: str, shape: Size | None = None) -> float | None:
        return None if placed(model)[1] else self._here.processor_s(model, shape)


def far_run(query: Mapping[str, Any], folder: Path) -> Mapping[str, int]:
    """Run a query; leaves the results and the report in the folder. Returns how many looks went to the reference."""
    engines, clock = list[FarEngine](), FarClock()

    def engine_of(wanted: CompiledQuery, observer: EngineObserver = UNOBSERVED) -> FarEngine:
        engines.append(FarEngine(backend(wanted.catalogue, observer), clock))
        return engines[-1]

    def timed(
        engine: Inference, model: str, now_s: Callable[[], float], took: Callable[[float], None]
    ) -> RemoteReference:
        return RemoteReference(engine, model, clock.monotonic_s, took)

    with (
        patch("pipelines.assembly.parts.engine_of", engine_of),
        patch("pipelines.assembly.recognise.RemoteReference", timed),
    ):
        wanted = compiled(Query.model_validate(query), catalogue([]))
        run_query(wanted, Outputs(str(folder / "results.jsonl"), report=folder / "report.json"))
    return engines[-1].looks


def main() -> None:
    """``far_run FOLDER``: the query lies in the folder."""
    folder = Path(sys.argv[1])
    query = yaml.safe_load((folder / "query.yaml").read_text(encoding="utf-8"))
    (folder / "looks.json").write_text(json.dumps(far_run(query, folder)))


if __name__ == "__main__":
    main()
