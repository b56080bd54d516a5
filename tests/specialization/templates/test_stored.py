"""Templates are made once, found for the very file they were made for, and left out when damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.weg_parts.train_plates import MODELS as PLATES
from learning.store import write_store
from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import BadInput, ModelError
from serving.loading.opening import open_model
from specialization.rates import MeasuredRates, Rates
from specialization.templates.derive import compact, derived
from specialization.templates.stored import (
    MANIFEST,
    StoredTemplate,
    all_templates,
    feature_entry,
    open_template,
    templates_for,
    write_manifest,
)
from tests.learning.stores import samples
from tests.serving.graphs.onnx_graphs import classifier, entry, pictures

MEASURED = (
    MeasuredRates(0.01, {1: Rates(0.8, 0.2, 0.99), 3: Rates(0.6, 0.4, 0.99)}),
    MeasuredRates(0.05, {1: Rates(0.95, 0.05, 0.9)}),
)


@pytest.fixture
def oracle(tmp_path: Path) -> Entry:
    return entry(tmp_path / "models", name="oracle")


@pytest.fixture
def small(tmp_path: Path, oracle: Entry) -> Entry:
    return entry(tmp_path / "models", classifier(seed=1, width=4), name="small", tier="compact")


@pytest.fixture
def template(oracle: Entry, small: Entry, tmp_path: Path) -> StoredTemplate:
    return compact(oracle, small, tmp_path / "templates")


def test_a_compact_network_becomes_a_template(template: StoredTemplate, oracle: Entry) -> None:
    manifest = template.manifest
    assert (template.name, template.labels, template.has_store) == ("small-features", oracle.card.classes, False)
    assert (manifest.oracle_identity, manifest.cost_is) == (oracle.card.identity, "multiply-adds")
    first, second = 8 * 8 * 27, 4 * 4 * 9  # multiply-adds per channel, and per channel and channel
    assert manifest.cost == pytest.approx((4 * first + 16 * second) / (16 * first + 256 * second + 48))
    features = open_model(feature_entry(template.directory), 1).run(pictures(2))[0]
    assert features.shape == (2, 4)


def test_a_compact_network_is_no_part_of_its_oracle(template: StoredTemplate) -> None:
    assert not template.is_early


def test_the_catalogue_serves_feature_networks(template: StoredTemplate, oracle: Entry) -> None:
    found = Catalogue([template.directory.parent]).find("small-features")
    assert (found.card.task, found.card.input) == ("embed", oracle.card.input)


def test_an_oracle_is_cut_early(tmp_path: Path) -> None:
    made = derived(Catalogue([PLATES]).find("plates"), tmp_path / "templates")
    assert (made.name, made.has_store) == ("plates-early20", False)
    assert 0.15 < made.manifest.cost <= 0.2
    assert made.measured == ()
    assert made.is_early
    assert made.prospect == (made.manifest.cost, (), 1.0), "nobody has cut its oracle for heads yet"
    assert made.at(0.05, 0.1, 0.9).passed == 0.9
    assert made.at(0.05, 0.1).rates(1) == Rates(0, 1, 1), "nobody knows how its heads do"
    pixels = np.zeros((2, 3, 96, 96), np.float32)
    assert open_model(feature_entry(made.directory), 1).run(pixels)[0].shape == (2, 9 * 32)


def test_an_oracle_too_small_to_be_cut_early_is_named(oracle: Entry, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="model 'oracle': this network cannot be cut within the first 20%"):
        derived(oracle, tmp_path / "templates")


def test_it_is_made_once(oracle: Entry, small: Entry, template: StoredTemplate, tmp_path: Path) -> None:
    write_store(template.directory, *samples(20))
    again = compact(oracle, small, tmp_path / "templates")
    assert again.has_store


def test_it_is_made_anew_for_another_oracle_or_when_damaged(
    oracle: Entry, small: Entry, template: StoredTemplate, tmp_path: Path
) -> None:
    write_store(template.directory, *samples(20))
    other = entry(tmp_path / "others", classifier(seed=9), name="oracle")
    made = compact(other, small, tmp_path / "templates")
    assert (made.has_store, made.manifest.oracle_identity) == (False, other.card.identity)
    (made.directory / "model.onnx").write_bytes(b"cut")
    made = compact(other, small, tmp_path / "templates")
    assert len(open_model(feature_entry(made.directory), 1).run(pictures(1))[0]) == 1


def test_it_is_made_anew_where_its_network_is_shown_other_pictures(
    oracle: Entry, small: Entry, template: StoredTemplate, tmp_path: Path
) -> None:
    write_store(template.directory, *samples(20))
    shown = small.card.model_copy(update={"input": small.card.input.model_copy(update={"detail": 4})})
    made = compact(oracle, replace(small, card=shown), tmp_path / "templates")
    assert not made.has_store
    assert feature_entry(made.directory).card.input.detail == 4


@pytest.mark.parametrize("change", [{"detail": 4}, {"std": (2.0, 2.0, 2.0)}])
def test_templates_for_an_oracle_that_is_shown_other_pictures_now_are_not_found_and_it_is_said(
    oracle: Entry, template: StoredTemplate, caplog: pytest.LogCaptureFixture, change: dict[str, object]
) -> None:
    write_store(template.directory, *samples(20))
    there = [template.directory.parent]
    assert [found.name for found in templates_for(there, oracle.card)] == [template.name]
    shown = oracle.card.model_copy(update={"input": oracle.card.input.model_copy(update=change)})
    assert templates_for(there, shown) == []
    (line,) = caplog.messages
    assert line.endswith(f"make it anew with: sluice specialize profile {oracle.card.name}")


def test_processes_that_make_it_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from serving.catalogue.lookup import SHIPPED, Catalogue
from specialization.templates.derive import derived
for number in range(8):
    derived(Catalogue([SHIPPED]).find("street-kind"), Path({str(tmp_path)!r}) / str(number))
"""
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert [len(list((tmp_path / str(number)).iterdir())) for number in range(8)] == [1] * 8


def test_damaged_networks_and_places_that_cannot_be_written(oracle: Entry, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadInput, match="cannot be written"):
        compact(oracle, oracle, tmp_path / "file")
    oracle.path.write_bytes(b"cut")
    with pytest.raises(ModelError, match="damaged"):
        derived(oracle, tmp_path / "templates")


def test_rates_of_the_largest_tolerance_allowed(template: StoredTemplate) -> None:
    known = template.with_rates(MEASURED)
    assert known.at(0.03, 0.2).measured == MEASURED[0].rates
    assert known.at(1 - 0.95, 0.2).measured == MEASURED[1].rates, "1 − 0.95 is a little more than 0.05"
    assert known.at(1 - 0.99, 0.2).measured == MEASURED[0].rates, "and 1 − 0.99 a little more than 0.01"
    assert known.at(0.001, 0.2).rates(1) == Rates(0, 1, 1)
    assert known.at(0.05, 0.2).cost == 0.2
    assert template.measured == ()


def test_those_for_this_very_oracle_are_found(template: StoredTemplate, oracle: Entry, tmp_path: Path) -> None:
    other = entry(tmp_path / "others", classifier(seed=9), name="oracle")
    places = [tmp_path / "nothing", template.directory.parent]
    assert [each.name for each in templates_for(places, oracle.card)] == ["small-features"]
    assert templates_for(places, other.card) == []


def test_the_first_of_a_name_wins(template: StoredTemplate, oracle: Entry, small: Entry, tmp_path: Path) -> None:
    compact(oracle, small, tmp_path / "own")
    (found,) = templates_for([tmp_path / "own", template.directory.parent], oracle.card)
    assert found.directory.parent == tmp_path / "own"


def changed(template: StoredTemplate, **keys: object) -> None:
    path = template.directory / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


NO_RATES = {"tolerance": 0.1, "rates": {}}
TOO_MUCH = {"tolerance": 0.1, "rates": {"1": {"a_in": 1.5, "e_in_out": 0, "a_out": 0}}}
NOBODY = {"tolerance": 0.1, "rates": {"0": {"a_in": 1, "e_in_out": 0, "a_out": 0}}}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"surprise": 1}, "not a template"),
        ({"cost": "cheap"}, "not a template"),
        ({"cost": 0}, "cost must be above 0"),
        ({"measured": [NO_RATES]}, "needs rates for 1 class or more"),
        ({"measured": [NOBODY]}, "needs rates for 1 class or more"),
        ({"measured": [TOO_MUCH]}, "rates must be shares"),
    ],
)
def test_damaged_ones_are_told_of_and_left_out(
    keys: dict[str, object], problem: str, template: StoredTemplate, oracle: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    changed(template, **keys)
    with pytest.raises(ModelError, match=problem) as caught:
        open_template(template.directory)
    assert "\n" not in str(caught.value)
    assert templates_for([template.directory.parent], oracle.card) == []
    assert "not used" in caplog.text
    (found,) = all_templates([template.directory.parent])
    assert isinstance(found, ModelError)


@pytest.mark.parametrize("file", ["model.onnx", "model.yaml"])
def test_incomplete_ones_are_none(file: str, template: StoredTemplate) -> None:
    (template.directory / file).unlink()
    with pytest.raises(ModelError):
        open_template(template.directory)


def test_a_template_is_no_classifier(template: StoredTemplate) -> None:
    card = template.directory / "model.yaml"
    card.write_text(card.read_text().replace("task: embed", "task: classify\nclasses: [a, b]"))
    with pytest.raises(ModelError, match="must be of the task embed"):
        open_template(template.directory)


def test_a_moved_template_is_refused(template: StoredTemplate) -> None:
    moved = template.directory.rename(template.directory.with_name("other"))
    with pytest.raises(ModelError, match="name is 'small-features'"):
        open_template(moved)


def test_manifests_survive_their_files(template: StoredTemplate) -> None:
    known = template.with_rates(MEASURED)
    write_manifest(template.directory, known.manifest)
    assert open_template(template.directory).manifest == known.manifest
    assert np.isfinite(known.manifest.cost)
