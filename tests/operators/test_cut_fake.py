"""The engine that stands in for networks treats rows as a network with cuts does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.testing import FakeEngine, card_of, scores
from serving.engines.exits import ExitResult, ExitSet, RowPolicy
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
