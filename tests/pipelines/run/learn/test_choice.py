"""Exits are chosen where they make looks cheaper, on looks that they were not trained on; else it is said why not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import ExitRows
from pipelines.run.learn.choice import LearningNetwork, LearntExits, NothingLearnt, learnt, parted
from pipelines.run.learn.costs import NetworkCosts
from tests.cache_adapt.learned.taught import SHA, SPEC, WORDS, samples

CUTS = SPEC.cuts
NETWORK = LearningNetwork("vehicle", SHA, CUTS, WORDS, NetworkCosts(0.010, (0.003, 0.007), 0.0001))


def looks(count: int = 2000, seed: int = 1) -> ExitRows:
    shown = ShownLooks.of([f"object {row}" for row in range(count)])
    return replace(samples(count, seed), shown=shown).kept()


def quick(exit_: LearnedExit) -> float:
    return 0.00005


def chosen(rows: ExitRows, network: LearningNetwork = NETWORK, agreement: float = 0.9) -> LearntExits:
    return learnt(network, rows, agreement, quick)


def test_exits_that_pay_are_trained_on_all_and_judged_on_the_later_looks() -> None:
    found = chosen(looks())
    assert found.judged == 800
    assert found.artefact.card.samples == 2000
    assert found.artefact.card.agreement == 0.9
    assert set(found.artefact.tensors) <= {cut.tensor for cut in CUTS}
    assert found.tuned.speedup > 1.03
    assert found.wrong.found <= found.wrong.most <= 0.1
    assert found.lost.found <= found.lost.most <= 0.05
    assert all(0 < each.threshold <= 1 for each in found.artefact.exits)


def test_equal_looks_give_equal_exits() -> None:
    assert chosen(looks()).artefact.to_bytes() == chosen(looks()).artefact.to_bytes()


def test_a_few_looks_are_too_few() -> None:
    with pytest.raises(NothingLearnt, match="149 looks are too few: 150"):
        chosen(looks(149))


def test_one_object_alone_proves_nothing() -> None:
    rows = replace(looks(), shown=ShownLooks.of(["a"] * 2000))
    with pytest.raises(NothingLearnt, match="too few"):
        chosen(rows)


def test_one_word_alone_is_nothing_to_learn() -> None:
    rows = replace(looks(), words=np.zeros(2000, np.intp))
    with pytest.raises(NothingLearnt, match="nothing to tell apart"):
        chosen(rows)


def test_what_says_nothing_of_the_end_is_no_exit() -> None:
    rng = np.random.default_rng(3)
    noise = [rng.normal(size=(2000, 24)).astype(np.float16) for _ in CUTS]
    with pytest.raises(NothingLearnt, match="no exit answers enough"):
        chosen(replace(looks(), taps=noise))


def test_a_network_that_is_faster_than_many_lookups_has_none() -> None:
    costs = NetworkCosts(0.001, (0.0003, 0.0007), 0.00001)
    with pytest.raises(NothingLearnt, match=r"asking one takes 5\.0% of a look, and 2% is the most"):
        chosen(looks(), replace(NETWORK, costs=costs))


def test_the_second_part_has_no_object_of_the_first() -> None:
    rows = replace(samples(6), shown=ShownLooks.of(["a", "a", "b", "b", "c", "d"]))
    first, second = parted(rows, 0.5)
    assert first.shown is not None
    assert second.shown is not None
    assert (first.shown.objects, second.shown.objects) == (["a", "a", "b"], ["c", "d"])
