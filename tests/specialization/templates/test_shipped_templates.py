"""The template in the package is whole, small, and its heads keep their promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from datasets.street import street_crops
from learning.store import FeatureStore
from serving.catalogue.lookup import SHIPPED as MODELS
from serving.catalogue.lookup import Catalogue, verify
from specialization.heads.head import OTHER
from specialization.heads.train import JUDGED_SKEW, HeadSamples, train_head
from specialization.heads.validate import TOLERANCES
from specialization.templates.fill import forward
from specialization.templates.stored import SHIPPED, StoredTemplate, feature_entry, templates_for
from tools.shipped.collect import DRAWN_SEED as LEARNT_SEED
from tools.shipped.collect import DRAWN_SIZE, UNSEEN_SEED
from tools.shipped.make_templates import DRAWN_SEED, STREETS, TEMPLATES

ORACLE = Catalogue([MODELS]).find("vehicle-type")
HELD_OUT_SEED = 5_000_011


@pytest.fixture(scope="module")
def template() -> StoredTemplate:
    (found,) = templates_for([SHIPPED], ORACLE.card)
    return found


def test_every_template_is_for_an_oracle_that_ships(template: StoredTemplate) -> None:
    assert template.name == "vehicle-type-compact-features"
    assert [path.name for path in SHIPPED.iterdir()] == [template.name]
    assert (template.labels, template.manifest.network) == (ORACLE.card.classes, TEMPLATES["vehicle-type"])
    verify(feature_entry(template.directory))


def test_it_is_small(template: StoredTemplate) -> None:
    store = sum((template.directory / name).stat().st_size for name in ("features.npy", "labels.npy"))
    assert store <= 2_500_000
    assert sum(path.stat().st_size for path in template.directory.iterdir()) <= 4_000_000


def test_its_pictures_are_none_that_networks_learnt_from() -> None:
    assert not {LEARNT_SEED, UNSEEN_SEED}.intersection(range(DRAWN_SEED, DRAWN_SEED + STREETS))


def test_all_classes_are_in_its_store(template: StoredTemplate) -> None:
    counts = np.bincount(FeatureStore.open(template.directory).labels, minlength=len(template.labels))
    assert len(counts) == len(template.labels)
    assert counts.min() >= 100


def test_its_rates_say_that_specialization_can_pay(template: StoredTemplate) -> None:
    assert tuple(each.tolerance for each in template.measured) == TOLERANCES
    rates = template.at(0.015, 0.1).rates(2)
    assert rates is not None
    assert rates.a_in > 0.4
    assert rates.a_out > 0.9


@pytest.mark.parametrize("names", [("car", "motorcycle"), ("car",), ("motorcycle", "truck", "van")])
def test_heads_keep_their_tolerance_on_rows_they_never_saw(names: tuple[str, ...], template: StoredTemplate) -> None:
    store = FeatureStore.open(template.directory)
    classes = [template.labels.index(name) for name in names]
    # The newest quarter stays out of training, thresholds and all.
    out = np.arange(len(store.labels)) >= 0.75 * len(store.labels)
    head = train_head(
        HeadSamples(store.features[~out], store.labels[~out]), classes, 0.6, 0.02, np.random.default_rng(0)
    )
    said, _ = head.decide(store.features[out])
    assert wrong_share(said, store.labels[out], classes) <= 0.03, "2 % and the chance of some hundred rows"
    assert (said != OTHER)[np.isin(store.labels[out], classes)].mean() > 0.3


def test_heads_keep_it_on_other_streets_nearly(template: StoredTemplate) -> None:
    crops, _ = street_crops(HELD_OUT_SEED, 96, DRAWN_SIZE)
    seen = forward(ORACLE, [template], crops, 1, lambda count: None)
    store, answers, wrong = FeatureStore.open(template.directory), 0, 0
    for classes in combinations(range(4), 2):
        head = train_head(HeadSamples(store.features, store.labels), classes, 0.6, 0.02, np.random.default_rng(0))
        said, _ = head.decide(seen.features[template.name])
        own = np.isin(seen.labels, classes) & (said != OTHER)
        answers += int(own.sum())
        wrong += int((said != seen.labels)[own].sum())
    assert answers >= 30
    assert wrong <= 0.1 * answers, "no street is the mean of all streets"


def wrong_share(said: np.ndarray, truth: np.ndarray, classes: object) -> float:  # type: ignore[type-arg]
    """Shares of the answers, on a stream of which four fifths are of these classes."""
    inside, answered = np.isin(truth, classes), said != OTHER
    weights = np.where(inside, JUDGED_SKEW / inside.sum(), (1 - JUDGED_SKEW) / (~inside).sum())
    return float((weights * (said != truth))[answered].sum() / weights[answered].sum())
