"""Forms of caches on whole activations: their size by arithmetic, what they learn, and choices among them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.cache_forms_parts.blocks import Outputs
from benchmarks.cache_forms_parts.caches import Said, cached
from benchmarks.cache_forms_parts.composed import Composition, in_pairs, replayed, ways
from benchmarks.cache_forms_parts.distance import distances
from benchmarks.cache_forms_parts.forms import CONV, FC, POOL, trained

SHAPE = (4, 8, 8)
COUNT = 600


@pytest.fixture(scope="module")
def outputs() -> Outputs:
    """Activations in which the word stands: the brightest of three channels."""
    torch.manual_seed(0)
    words = torch.randint(3, (COUNT,))
    features = 0.3 * torch.randn(COUNT, *SHAPE)
    features[torch.arange(COUNT), words] += 1.0
    return Outputs({1: features.half(), 2: features.half()}, 5.0 * torch.nn.functional.one_hot(words, 3).float())


@pytest.mark.parametrize(
    ("form", "millions", "memory_mb"),
    [(FC, (256 * 1024 + 10240) / 1e6, (256 * 1024 + 1024 + 1024 * 3 + 3) * 4e-6), (POOL, 0.002816, 257 * 3 * 4e-6)],
)
def test_the_size_of_a_form(outputs: Outputs, form: str, millions: float, memory_mb: float) -> None:
    made = trained(1, form, "distilled", outputs.features[1][:64], outputs.logits[:64])
    assert made.operations_m == pytest.approx(millions)
    assert made.memory_mb == pytest.approx(memory_mb, rel=1e-2)


@pytest.mark.parametrize("form", [FC, POOL])
def test_a_cache_answers_what_it_has_learnt_and_is_right(outputs: Outputs, form: str) -> None:
    made = cached(1, form, "distilled", outputs.rows(slice(None, 400)), outputs.rows(slice(400, None)))
    threshold = made.threshold()
    assert made.unseen.share(threshold) > 0.5
    assert made.unseen.accuracy(threshold) > 0.94


def test_a_threshold_spends_no_more_than_may_be_wrong() -> None:
    said = Said(np.linspace(0, 1, 100), np.arange(100) % 10 != 9)
    assert said.accuracy(0.5) == pytest.approx(0.95)
    assert said.share(0.5) == pytest.approx(0.5)


def test_choices_are_replayed_on_what_they_have_not_seen(outputs: Outputs) -> None:
    learnt, unseen = outputs.rows(slice(None, 400)), outputs.rows(slice(400, None))
    caches = [cached(block, form, "distilled", learnt, unseen) for block in (1, 2) for form in (POOL, CONV)]
    until_s = [1.0, 2.0, 4.0]
    composed = Composition.of(caches, until_s)
    found = {way: replayed(composed, until_s, way, choice) for way, choice in ways(composed)}
    assert found["programme"]["mean_ms"] < found["programme"]["whole_ms"] == 4000
    assert found["programme"]["mean_ms"] <= found["greedy by hits"]["mean_ms"] * 1.05
    one, two = in_pairs(composed, dict(ways(composed))["programme"], until_s, [2 * each for each in until_s])
    assert two["mean_ms"] > one["mean_ms"]  # the one waits for the other


def test_caches_that_keep_what_they_saw_find_the_nearest(outputs: Outputs) -> None:
    learnt, unseen = outputs.rows(slice(None, 500)), outputs.rows(slice(500, None))
    rows = {row["form"]: row for row in distances(learnt.features[1], learnt.words, unseen.features[1], unseen.words)}
    assert rows["k-NN"]["accuracy"] > 0.9
    assert rows["k-NN"]["memory_mb"] == pytest.approx(5 * rows["k-means"]["memory_mb"])
    assert rows["LSH"]["memory_mb"] > rows["k-NN"]["memory_mb"]
