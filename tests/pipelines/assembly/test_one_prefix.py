"""A query whose heads sit on an early cut of its oracle, with real networks: no layer runs twice for one look."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cache_adapt.audit.state import Rule
from datasets import plates
from learning.purse import unlimited
from operators.recognise.chain import Chain
from operators.recognise.specialised.heads import Heads
from operators.testing import make_frame
from operators.wire.schema import Attribute
from pipelines.assembly.parts import Parts, Setting, assembled
from pipelines.environment import catalogue
from pipelines.query.compiled import compiled
from serving.backend import Backend
from serving.common.tensors import Image, softmax
from serving.loading.opening import open_model
from serving.preprocess import batch
from serving.scheduling.requests import Urgency
from specialization.trainer.trainer import ThreadSpecializer
from tests.pipelines.queries import query

MODELS = Path(__file__).parents[3] / "benchmarks" / "weg_parts" / "models"
NODE = {"name": "plate", "task": "recognise", "input": "frame", "model": "plates", "specialize": True}
FIRST, REST = "plates-early20+half1", "plates+half1"
MOST, OTHERS = 1500, 20


class Stream:
    """Two photos that are shown nearly always, and new ones of any plate; notes what every frame had run."""

    def __init__(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
        self._parts, self._rng, self._seq = parts, np.random.default_rng(0), 0
        self.common = [plates.photo(plates.plate(label), self._rng) for label in (3, 50)]
        self.asked: list[tuple[str, int]] = []
        infer = Backend.infer

        async def noted(engine: Backend, model: str, items: NDArray[Any], urgency: Urgency) -> list[NDArray[Any]]:
            if math.isfinite(urgency.deadline):
                self.asked.append((model, len(items)))
            return await infer(engine, model, items, urgency)

        monkeypatch.setattr(Backend, "infer", noted)

    def other(self) -> Image:
        """A photo that was not shown before."""
        return plates.photo(plates.plate(int(self._rng.integers(len(plates.CLASSES)))), self._rng)

    async def show(self, photo: Image) -> Attribute:
        """What is said of it."""
        self.asked.clear()
        frame = make_frame(self._seq, self._seq / 10, photo)
        self._seq += 1
        result = await self._parts.executor.submit(frame.header, lambda: frame)
        self._parts.executor.published(result)
        for _ in range(8):
            await asyncio.sleep(0)  # the background has its turn
        (chain,) = self._parts.shortcuts.nodes.values()
        assert isinstance(chain, Chain)
        (heads,) = chain.links
        assert isinstance(heads, Heads)
        await heads.settled()
        (shown,) = result.objects
        (said,) = shown.attributes
        return said

    async def until_a_head_answers(self) -> None:
        """Show photos until a head answers at a cut of the oracle."""
        for number in range(MOST):
            said = await self.show(self.other() if number % 10 == 0 else self.common[number % 2])
            if said.provenance == "specialised" and self.asked == [(FIRST, 1)]:
                return
        raise AssertionError("no head has answered")


async def test_what_a_head_passes_on_is_what_the_whole_oracle_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    monkeypatch.setattr("pipelines.assembly.environment.Purse", lambda used_s: unlimited())
    known = catalogue([MODELS])
    setting = Setting(ThreadSpecializer(), rule=Rule(0.7))
    async with assembled(compiled(query(NODE, slo_ms=60_000), known), setting) as parts:
        stream = Stream(parts, monkeypatch)
        await stream.until_a_head_answers()
        photos = [*stream.common, *(stream.other() for _ in range(OTHERS))]
        said = [(photo, await stream.show(photo), list(stream.asked)) for photo in photos]
    passed = [(photo, answer) for photo, answer, asked in said if asked == [(FIRST, 1), (REST, 1)]]
    assert {answer.provenance for _, answer in passed} == {"oracle"}
    assert {tuple(asked) for _, answer, asked in said if answer.provenance == "specialised"} == {((FIRST, 1),)}
    entry = known.find("plates")
    whole = open_model(entry, 1)
    for photo, answer in passed:
        (scores,) = whole.run(batch(entry.card.input, [photo])[0])
        shares = softmax(scores / entry.card.temperature)[0]
        assert answer.label == entry.card.classes[shares.argmax()]
        assert answer.confidence == pytest.approx(shares.max(), abs=1e-4)  # it is published to four digits
    whole.close()
