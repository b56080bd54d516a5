"""What a node's streams share: rules that get stricter, and costs that were measured."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from operators.recognise.specialised.relative_cost import relative_cost
from operators.testing import FakeEngine, card_of
from serving.errors import ModelError
from specialization.rates import Rates
from specialization.trainer.trainer import ThreadSpecializer
from specialization.weg.state import Target
from tests.operators.recognise.specialised.shades import RATES, SHADES, Scene


async def test_the_cost_of_a_network_is_measured_against_the_oracle() -> None:
    def working(milliseconds: float) -> object:
        def answer(batch: np.ndarray) -> list[np.ndarray]:
            time.sleep(milliseconds / 1000)
            return [batch]

        return answer

    engine = FakeEngine(big=(card_of("big"), working(20)), small=(card_of("small"), working(5)))  # type: ignore[arg-type]
    cost = await relative_cost(engine, "small", "big")
    assert 0.1 < cost < 0.9
    assert {batch.shape for _, batch, _ in engine.asked} == {(1, *engine.card("big").input.item_shape)}


async def test_preparing_loads_the_oracle_and_the_feature_networks(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer())
    await scene.node.prepare()
    assert sorted(scene.engine.loaded) == ["big", "tiny"]


async def test_rules_follow_the_accuracy_that_the_query_wants(tmp_path: Path) -> None:
    supply = Scene(tmp_path, ThreadSpecializer(), Rule(0.97)).supply
    rules = supply.rules(0)
    assert (rules.config.classes, rules.config.least_accuracy) == (len(SHADES), pytest.approx(0.97))
    assert rules.templates["tiny"].rates(1) == RATES[1]
    assert rules.templates["tiny"].cost == 0.1


async def test_heads_that_agreed_too_seldom_are_followed_by_stricter_ones(tmp_path: Path) -> None:
    supply = Scene(tmp_path, ThreadSpecializer(), Rule(0.98)).supply
    # Half of what is allowed, 0.01; rates were measured at 0.005, and nobody knows how heads do that are stricter.
    known = [supply.rules(strictness).templates["tiny"].rates(1) for strictness in (0, 1, 2)]
    assert known[:2] == [RATES[1]] * 2
    assert known[2]
    assert (known[2].a_in, known[2].e_in_out) == (0, 1)


@pytest.mark.parametrize(
    ("rates", "serves"),
    [
        (Rates(a_in=0.95, e_in_out=0.04, a_out=0.99), True),
        (Rates(a_in=0.80, e_in_out=0.04, a_out=0.99), False),  # too often wrong
        (Rates(a_in=0.18, e_in_out=0.82, a_out=1.00), False),  # 0.1 + 0.84, and audits of a quarter of the rest
    ],
)
async def test_a_head_serves_if_it_is_right_and_pays_for_its_audits(tmp_path: Path, rates: Rates, serves: bool) -> None:
    supply = Scene(tmp_path, ThreadSpecializer(), Rule(0.9)).supply
    assert supply.serves(Target("tiny", (1, 2), 0.9, 0.2), rates, strictness=0) is serves


async def test_a_head_for_more_classes_than_its_template_knows_does_not_serve(tmp_path: Path) -> None:
    supply = Scene(tmp_path, ThreadSpecializer(), Rule(0.9)).supply
    assert not supply.serves(Target("tiny", (0, 1, 2, 3, 4, 5), 0.9, 0.2), RATES[1], strictness=0)


async def test_a_template_that_is_not_there_is_an_error_when_preparing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer())

    async def load(model: str) -> None:
        raise ModelError(f"{model}: damaged")

    scene.engine.load = load  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="damaged"):
        await scene.node.prepare()
