"""The engine that stands in for networks treats rows as a network with cuts does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from operators import inference
from operators.testing import FakeEngine, card_of, scores
from serving.common.tensors import Array
from serving.engines.exits import ExitResult, ExitSet, RowPolicy
from serving.errors import TooLate
from serving.scheduling.requests import Urgency


class Said(NamedTuple):
    distribution: NDArray[np.float32]
    hit: NDArray[np.bool_]


class Bright:
    """Is sure of pictures whose sum is large."""

    def look(self, features: NDArray[np.float32]) -> Said:
        return Said(np.tile(np.float32([0, 1, 0]), (len(features), 1)), features.sum(axis=1) > 10)


async def test_rows_leave_or_run_on_as_their_policy_says() -> None:
    engine = FakeEngine(net=(card_of("net"), lambda batch: [scores(["red"] * len(batch))]))
    name = engine.add_cuts("net", ["early", "late"])
    assert engine.card(name) is engine.card("net")
    batch = np.stack([np.full((3, 4, 4), value, np.float32) for value in (1, 0, 1)])
    policy = RowPolicy(ExitSet({"late": Bright()}, 3), np.array([True, True, False]))
    found = ExitResult.of(await engine.infer(name, batch, Urgency(1.0), policy))
    assert found.place.tolist() == [1, 2, 1]
    assert found.left.tolist() == [True, False, False]
    assert found.scores.argmax(axis=1).tolist() == [0, 2, 2]
    assert found.distribution[:, 1].tolist() == [1, 0, 1]
    assert [tap.shape for tap in found.taps] == [(3, 3), (3, 3)]


async def test_a_crowd_is_shown_to_a_network_a_few_at_a_time_each_with_its_own_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = FakeEngine(net=(card_of("net"), lambda batch: [scores(["red"] * len(batch))]))
    name, size = engine.add_cuts("net", ["early", "late"]), engine.card("net").input
    monkeypatch.setattr(inference, "INPUT_BYTES", 3 * 4 * 3 * size.width * size.height + 1)
    pictures = [np.full((4, 4, 3), 200 * (each % 2), np.uint8) for each in range(7)]
    policy = RowPolicy(ExitSet({"late": Bright()}, 3), np.arange(7) < 4)
    found = ExitResult.of(await inference.outputs_of(engine, name, pictures, Urgency(1.0), policy))
    assert [len(batch) for _, batch, _ in engine.asked] == [3, 3, 1]
    assert found.place.tolist() == [2, 1, 2, 1, 2, 1, 2]
    assert found.left.tolist() == [False, True, False, True, False, False, False]
    assert [len(each) for each in found.as_list()] == [7] * 6


class Late(FakeEngine):
    """Gives up every request that may be given up, but for the first."""

    async def infer(self, model: str, batch: Array, urgency: Urgency, policy: RowPolicy | None = None) -> list[Array]:
        if urgency.droppable and self.asked:
            raise TooLate("it could not be answered in time")
        return await super().infer(model, batch, urgency, policy)


async def test_a_crowd_is_answered_late_once_a_part_of_it_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Late(net=(card_of("net"), lambda batch: [scores(["red"] * len(batch))]))
    monkeypatch.setattr(inference, "INPUT_BYTES", 1)
    pictures, hurried = [np.zeros((4, 4, 3), np.uint8)] * 3, Urgency(1.0, droppable=True)
    (found,) = await inference.outputs_of(engine, "net", pictures, hurried)
    assert len(found) == 3
    with pytest.raises(TooLate):
        await inference.outputs_of(engine, "net", pictures, hurried)
