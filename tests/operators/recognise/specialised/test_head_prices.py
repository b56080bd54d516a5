"""What it takes until a head answers, and how long a head is chosen for."""

from __future__ import annotations

from pathlib import Path

import pytest

from operators.audits.roles import Roles
from operators.recognise.classifier import Classifier
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.head_prices import LEAST_LOOKS, MOST_LOOKS, MOST_WINDOW, PROOF, HeadPrices
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.specialised.shades import Scene

LOOK_S = 0.0015 + 0.0005


def prices(tmp_path: Path, measured: bool = True) -> HeadPrices:
    supply = Scene(tmp_path, ThreadSpecializer()).supply
    return HeadPrices(supply.features, supply.samples, {"tiny"} if measured else set(), costs_here=True)


def test_where_money_comes_slowly_a_head_is_chosen_from_more_answers(tmp_path: Path) -> None:
    of = prices(tmp_path)
    needed_s = of.training.seconds + PROOF * LOOK_S
    windows = []
    for income_s in (1.0, needed_s / 800, 1e-6):
        assert of.have_changed(["tiny"], income_s)
        windows.append(of.window)
    assert windows == [30, 200, MOST_WINDOW]


def test_where_everything_may_be_spent_nothing_is_waited_for(tmp_path: Path) -> None:
    of = prices(tmp_path)
    of.have_changed(["tiny"], float("inf"))
    assert of.window == 30


def test_a_head_costs_its_training_and_its_proof(tmp_path: Path) -> None:
    of = prices(tmp_path)
    assert of.have_changed(["tiny"], 1.0)
    assert of.in_looks == pytest.approx((of.training.seconds + PROOF * LOOK_S) / 0.0205)
    of.training.took(of.training.seconds * 1.01)
    assert not of.have_changed(["tiny"], 1.0)
    of.training.took(0.0)
    of.training.took(100.0)
    of.have_changed(["tiny"], 1.0)
    assert of.in_looks == MOST_LOOKS > LEAST_LOOKS


def test_a_network_that_is_still_to_be_made_is_thought_to_cost_more(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ThreadSpecializer())
    recogniser = Classifier(scene.engine, Roles.of(["big"], scene.engine.card), "shade")
    made = Features(scene.engine, recogniser, {"tiny": 0.1}, make=lambda: None)
    there = prices(tmp_path)
    still_to_make = HeadPrices(made, scene.supply.samples, set(), costs_here=True)
    assert still_to_make.opening.seconds > 3 * there.opening.seconds


def test_steps_come_in_their_order(tmp_path: Path) -> None:
    of = prices(tmp_path, measured=False)
    assert (of.step_s("tiny"), of.next_step(["tiny"])[0]) == (of.opening.seconds, "loading a compact network")
