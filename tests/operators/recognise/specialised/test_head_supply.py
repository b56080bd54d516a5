"""What a node's streams share: rules that get stricter, and costs that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache_adapt.audit.state import Rule
from learning.purse import Purse
from serving.errors import ModelError, SluiceError
from specialization.rates import Rates
from specialization.trainer.trainer import ThreadSpecializer
from specialization.weg.state import Head, HeadTarget
from tests.operators.recognise.specialised.shades import RATES, SHADES, Scene


async def test_rules_follow_the_accuracy_that_the_query_wants(tmp_path: Path) -> None:
    supply = Scene(tmp_path, ThreadSpecializer(), Rule(0.97)).supply
    rules = supply.rules(0)
    assert (rules.config.classes, rules.config.least_accuracy) == (len(SHADES), pytest.approx(0.97))
    assert rules.templates["tiny"].rates(1) == RATES[1]
    assert rules.templates["tiny"].cost == pytest.approx((0.0015 + 0.0005) / (0.02 + 0.0005))  # as observed


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
    assert supply.worth_it(HeadTarget("tiny", (1, 2), 0.9, 0.2), rates, strictness=0) is serves


async def test_a_head_for_more_classes_than_its_template_knows_does_not_serve(tmp_path: Path) -> None:
    supply = Scene(tmp_path, ThreadSpecializer(), Rule(0.9)).supply
    assert not supply.worth_it(HeadTarget("tiny", (0, 1, 2, 3, 4, 5), 0.9, 0.2), RATES[1], strictness=0)


async def test_a_head_that_would_say_other_most_of_the_time_is_not_worth_it(tmp_path: Path) -> None:
    supply = Scene(tmp_path, ThreadSpecializer(), Rule(0.9)).supply
    target, rates = HeadTarget("tiny", (1, 2), 0.9, 0.2), Rates(a_in=0.55, e_in_out=0.45, a_out=0.99)
    assert not supply.worth_it(target, rates, strictness=0)
    good = Rates(a_in=0.95, e_in_out=0.04, a_out=0.99)
    assert supply.worth_it(target, good, strictness=0, named=0.6)
    assert not supply.worth_it(target, good, strictness=0, named=0.5)  # the other half has no name: it says "other"


async def used_up(scene: Scene) -> list[str]:
    """The networks that were opened once the oracle's cost was known."""
    await scene.frame(1)
    await scene.frame(2)
    await scene.heads.settled()
    return list(scene.supply.sampled())


async def test_without_money_nothing_is_loaded_sampled_or_trained_and_it_is_said_what_is_missing(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, ThreadSpecializer(), purse=Purse(lambda: 6.0))
    assert await used_up(scene) == []
    assert scene.engine.loaded == []
    assert scene.supply.waits_for() == (
        "heads are not used yet at accuracy 0.9: loading a compact network takes 0.1 s of processor time; 0.09 s may "
        "be spent so far (1.5% of what this process has used, and half of what was saved)"
    )
    assert not scene.supply.may_train()


async def test_what_can_be_paid_is_loaded_and_paid(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer(), purse=Purse(lambda: 10.0))
    assert await used_up(scene) == ["tiny"]
    assert scene.engine.loaded == ["tiny"]
    assert scene.supply.books.of("cam").seconds.training == scene.engine.opening_s  # not what ran beside
    assert "training a head takes 0.2 s" in (scene.supply.waits_for() or "")


async def test_where_the_oracle_is_as_cheap_as_a_head_nothing_is_tried_and_it_is_said_why(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer())
    scene.engine.costs_s = {"big": 0.0002, "tiny": 0.0002}
    assert await used_up(scene) == []
    assert scene.engine.loaded == []
    assert not scene.supply.may_train()
    assert (scene.supply.why_not(None, 0) or "").startswith(
        "heads will not be used at accuracy 0.9: a look of the oracle takes 0.70 ms of processor time"
    )


async def test_where_objects_are_rare_nothing_is_tried(tmp_path: Path) -> None:
    supply = Scene(tmp_path, ThreadSpecializer()).supply
    assert supply.why_not(10_000.0, 0) is None
    assert "at 10 looks an hour" in (supply.why_not(10.0, 0) or "")


async def test_a_network_that_cannot_be_made_is_why_there_are_no_heads(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer())

    async def load(model: str) -> float:
        raise ModelError(f"{model}: damaged")

    scene.engine.load = load  # type: ignore[method-assign]
    assert await used_up(scene) == []
    assert scene.supply.why_not(None, 0) == "heads will not be used at accuracy 0.9: tiny: damaged"


async def test_training_that_cannot_be_paid_is_refused_and_what_was_paid_is_in_the_books(tmp_path: Path) -> None:
    trainer = ThreadSpecializer()
    scene, poor = Scene(tmp_path, trainer), Scene(tmp_path, trainer, purse=Purse(lambda: 1.0))
    head = Head(1, HeadTarget("tiny", (1, 2), 0.9, 0.2), 0.6)
    with pytest.raises(SluiceError, match="cannot be paid yet"):
        await poor.supply.train(head, 0, poor.supply.books.of("cam"), "cam")
    assert poor.supply.books.of("cam").seconds.spent == 0
    await scene.supply.train(head, 0, scene.supply.books.of("cam"), "cam")
    assert scene.supply.books.of("cam").seconds.training > 0
    await trainer.close()


async def test_samples_leave_enough_for_training_and_proof(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer(), purse=Purse(lambda: 40.0))
    await used_up(scene)
    await scene.show([1, 2, 3])
    assert scene.supply.sampled()["tiny"] == pytest.approx(0.2 + 300 * 0.002)  # more than the 0.6 s of the purse
    assert scene.supply.books.of("cam").seconds.samples == 0.0
    rich = Scene(tmp_path / "rich", ThreadSpecializer(), purse=Purse(lambda: 400.0))
    await used_up(rich)
    await rich.show([1, 2, 3])
    assert rich.supply.books.of("cam").seconds.samples >= 3 * 0.002


async def test_without_rates_samples_come_first(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer(), store=False, purse=Purse(lambda: 40.0))
    await used_up(scene)
    assert scene.supply.sampled() == {"tiny": 0.0}
