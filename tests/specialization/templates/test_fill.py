"""A template's training set: the oracle's answers to pictures, and the features of the same pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learning.store import FeatureStore
from serving.catalogue.lookup import Entry
from serving.errors import ModelError
from serving.loading.opening import open_model
from serving.preprocess import batch
from specialization.heads.train import TooFewSamples
from specialization.templates.cost import latency_shares
from specialization.templates.derive import compact
from specialization.templates.fill import PictureSource, fill, forward
from specialization.templates.stored import StoredTemplate, feature_entry, open_template
from tests.serving.graphs.onnx_graphs import classifier, entry


@pytest.fixture
def oracle(tmp_path: Path) -> Entry:
    return entry(tmp_path / "models", name="oracle")


@pytest.fixture
def template(oracle: Entry, tmp_path: Path) -> StoredTemplate:
    small = entry(tmp_path / "models", classifier(seed=1, width=4), name="small", tier="compact")
    return compact(oracle, small, tmp_path / "templates")


def images(count: int) -> list[np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (9, 11, 3)).astype(np.uint8) for _ in range(count)]


def test_every_picture_is_seen_by_the_oracle_and_by_the_templates(oracle: Entry, template: StoredTemplate) -> None:
    shown, told = images(37), list[int]()
    seen = forward(oracle, [template], iter(shown), 1, told.append)
    logits = open_model(oracle, 1).run(batch(oracle.card.input, shown)[0])[0]
    network = feature_entry(template.directory)
    features = open_model(network, 1).run(batch(network.card.input, shown)[0])[0]
    np.testing.assert_array_equal(seen.labels, logits.argmax(axis=1))
    np.testing.assert_allclose(seen.features[template.name], features, atol=1e-5)
    assert told == [16, 32, 37]


def test_no_pictures_are_one_line(oracle: Entry, template: StoredTemplate) -> None:
    with pytest.raises(ModelError, match="no pictures to show to 'oracle'"):
        forward(oracle, [template], [], 1, lambda count: None)


def test_a_filled_template_has_store_and_rates(template: StoredTemplate) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    features = 5 * np.eye(3, 4)[labels] + rng.normal(size=(400, 4))
    fill(template, features, labels, PictureSource("some", "abc"), lambda share: None)
    filled = open_template(template.directory)
    assert filled.has_store
    assert (filled.manifest.data, filled.manifest.data_sha256) == ("some", "abc")
    assert filled.at(0.05, 0.1).measured[1].a_in > 0.8
    np.testing.assert_array_equal(FeatureStore.open(filled.directory).labels, labels)


def test_too_few_samples_leave_the_template_as_it_was(template: StoredTemplate) -> None:
    with pytest.raises(TooFewSamples):
        fill(template, np.zeros((5, 4)), np.zeros(5, np.int32), PictureSource("few", ""), lambda share: None)
    assert open_template(template.directory) == template


def test_shares_of_latency_are_measured_for_each(oracle: Entry, template: StoredTemplate) -> None:
    shares = latency_shares(oracle, [template], 1, budget_s=0.05)
    assert list(shares) == [template.name]
    assert shares[template.name] > 0
