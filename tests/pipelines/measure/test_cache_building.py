"""`sluice caches build`: what is explored is kept, what pays is stored, and a variant that alone is as fast wins."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cache_adapt.caches import explore
from cache_adapt.caches.build import Built
from learning.store import FeatureStore
from pipelines.commands.models import caches
from pipelines.measure import cache_building, cache_ways, tapped_pictures
from pipelines.measure.cache_files import EXPLORED, FILE, built_caches, validation_set
from pipelines.measure.cache_places import cut_places
from pipelines.measure.template_data import Shown
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.errors import BadInput, ModelError
from serving.variants import artefacts
from serving.variants.artefacts import folder, identity
from serving.variants.variant import parse
from tests.pipelines.measure.alike import build_quickly, silent, slow, write_pictures

ENTRY = Catalogue([SHIPPED]).find("street-kind")
INT8 = parse("street-kind@onnxruntime-int8")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    return write_pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    build_quickly(monkeypatch)


def build(pictures: Path, tmp_path: Path, again: bool = False, target: float = 0.6):
    said: list[str] = []
    order = cache_building.CacheBuildRequest(Shown.of(pictures), target, tmp_path, again)
    return cache_building.build_caches(ENTRY, order, lambda what, share: said.append(what)), said


def test_caches_that_pay_are_stored_and_what_was_explored_is_kept(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_building, "measured_variants", lambda *_: [])
    slow(monkeypatch, 1.0)
    found, said = build(pictures, tmp_path)
    assert found.built.caches is not None
    stored = built_caches(ENTRY)
    assert stored is not None
    assert stored.card == found.built.caches.card
    assert (stored.card.model, stored.card.of, stored.card.samples) == ("street-kind", "answers", 120)
    assert (folder(tmp_path, ENTRY) / EXPLORED).exists()
    assert {"pictures", "forward", "latency"} <= set(said)
    monkeypatch.setattr(explore, "_explored", None)  # whatever is explored again fails
    again, _ = build(pictures, tmp_path)
    assert again.explored == found.explored
    with pytest.raises(TypeError):
        build(pictures, tmp_path, again=True)


def test_pictures_of_a_build_are_kept_at_the_places_of_the_caches(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_building, "measured_variants", lambda *_: [])
    slow(monkeypatch, 1.0)
    found, _ = build(pictures, tmp_path)
    kept = validation_set(ENTRY)
    assert kept is not None
    assert found.built.caches is not None
    assert tuple(cut.tensor for cut in kept.cuts) == found.built.caches.tensors
    assert found.kept == len(FeatureStore.open(kept.directory).labels) == 120


def test_where_caches_go_into_a_variant_or_nowhere_pictures_are_kept_for_caches_from_own_looks(
    pictures, tmp_path, monkeypatch
):
    slow(monkeypatch, 0.5)
    build(pictures, tmp_path)
    kept = validation_set(ENTRY)
    assert kept is not None
    assert kept.is_of(cut_places(ENTRY))
    items = tapped_pictures.prepared(ENTRY, Shown.of(pictures), silent)
    tapped = tapped_pictures.tapped_pictures(tapped_pictures.whole_of(ENTRY), items, silent)
    answers = tapped.cuts[0].lessons.answers
    assert FeatureStore.open(kept.directory).labels.tolist() == answers.tolist()


def test_caches_are_built_into_the_faster_variant_and_name_it(pictures, tmp_path, monkeypatch):
    slow(monkeypatch, 0.5)
    found, _ = build(pictures, tmp_path)
    assert set(found.explored) == {"street-kind", INT8.id}
    assert found.plan.variant == INT8.id
    assert found.file == folder(tmp_path, ENTRY) / "onnxruntime-int8.caches.safetensors"
    stored = built_caches(ENTRY, INT8)
    assert stored is not None
    assert (stored.card.model, stored.card.model_identity) == (INT8.id, identity(ENTRY, INT8, tmp_path))
    assert (stored.card.agreement, built_caches(ENTRY)) == (0.6, None)
    alone = 0.05
    assert stored.card.speedup == pytest.approx(alone / found.built.latency_s)
    assert found.plan.reason == f"caches save {1 - found.built.latency_s / alone:.1%} of the latency of {INT8.id}"


def test_a_slower_variant_gets_no_caches(pictures, tmp_path, monkeypatch):
    slow(monkeypatch, 1.5)
    found, _ = build(pictures, tmp_path)
    assert (set(found.explored), found.plan.variant) == ({"street-kind"}, "street-kind")
    assert found.file == folder(tmp_path, ENTRY) / "caches.safetensors"


def test_caches_of_a_variant_are_to_say_what_the_model_says(pictures, tmp_path):
    items = tapped_pictures.prepared(ENTRY, Shown.of(pictures), silent)
    network = tapped_pictures.whole_of(ENTRY)
    oracle = cache_ways.oracle_way(ENTRY, network, items, silent)
    other = np.roll(oracle.tapped.shares, 1, axis=1)
    oracle = replace(oracle, tapped=replace(oracle.tapped, shares=other, answers=other.argmax(axis=1)))
    (int8,) = cache_ways.measured_variants(ENTRY, network, items, other.argmax(axis=1), tmp_path, "0")
    way = cache_ways.variant_way(ENTRY, int8, oracle, items, tmp_path, silent)
    for cut in way.tapped.cuts:
        assert cut.lessons.answers.tolist() == other.argmax(axis=1).tolist()
    assert int8.agreement < 0.5
    assert way.right.mean() < 0.5
    assert cache_ways.fastest([int8], 0.9) is None


def test_what_a_variant_answers_differently_its_caches_have_to_make_up_for():
    way = cache_ways.Way("m@onnxruntime-int8", INT8, "", 0.98, None, None)
    assert way.wanted(0.95).constraint.agreement == pytest.approx(0.97)
    assert replace(way, agreement=1.0).wanted(0.95).constraint.agreement == pytest.approx(0.95)


def test_a_variant_that_is_built_already_is_used_as_it_is(pictures, tmp_path, monkeypatch):
    items = tapped_pictures.prepared(ENTRY, Shown.of(pictures), silent)
    path = artefacts.build(ENTRY, INT8, tmp_path, artefacts.Calibration(items[-8:], "other"))
    before = path.read_bytes()
    slow(monkeypatch, 0.5)
    build(pictures, tmp_path)
    assert path.read_bytes() == before


def test_caches_for_another_calibration_or_variant_are_refused(pictures, tmp_path, monkeypatch):
    slow(monkeypatch, 0.5)
    file = build(pictures, tmp_path)[0].file
    items = tapped_pictures.prepared(ENTRY, Shown.of(pictures), silent)
    for name in (file.name, f"{file.name}.sha256"):
        shutil.copy(file.with_name(name), file.with_name(name.removeprefix("onnxruntime-int8.")))
    remedy = "build them with: sluice caches build street-kind"
    with pytest.raises(ModelError, match=rf"{FILE}: made for {INT8.id}, not for street-kind; {remedy}"):
        built_caches(ENTRY)
    artefacts.build(ENTRY, INT8, tmp_path, artefacts.Calibration(items[:8] / 2, "other"))
    with pytest.raises(ModelError, match=rf"{file}: made for other weights.*not for {INT8.id}; {remedy}"):
        built_caches(ENTRY, INT8)
    (folder(tmp_path, ENTRY) / "int8.onnx").unlink()
    with pytest.raises(ModelError, match=r"is not built yet; build it with: sluice models profile street-kind"):
        built_caches(ENTRY, INT8)


def test_where_a_variant_alone_is_fastest_nothing_is_stored(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_ways, "item_s", lambda runs: {"full": 1.0, "quick": 0.01})
    found, _ = build(pictures, tmp_path)
    assert found.plan.variant == INT8.id
    assert found.file is None
    assert built_caches(ENTRY) is None
    assert built_caches(ENTRY, INT8) is None


def test_caches_that_are_slower_than_a_variant_once_they_are_calibrated_are_not_stored(pictures, tmp_path, monkeypatch):
    slow(monkeypatch, 0.5)
    monkeypatch.setattr(cache_building, "build", lambda *_: Built(None, 0.1, None))
    found, _ = build(pictures, tmp_path)
    assert (found.plan.variant, found.plan.latency) == (INT8.id, pytest.approx(0.05))
    assert (found.plan.reason, found.file) == ("calibrated together, caches do not pay", None)


def test_the_command_says_what_was_found_and_draws_it(pictures, tmp_path, monkeypatch):
    slow(monkeypatch, 0.5)
    picture = tmp_path / "spectrum.png"
    asked = ["build", "street-kind", "--data", str(pictures), "--target", "0.6"]
    ran = CliRunner().invoke(caches.command, [*asked, "--json", "--plot", str(picture)])
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert (said["model"], said["runs"], said["kept_pictures"]) == ("street-kind", INT8.id, 120)
    assert [each["variant"] for each in said["variants"]] == ["street-kind", INT8.id]
    assert {each["network"] for each in said["explored"]} == {"street-kind", INT8.id}
    assert picture.read_bytes().startswith(b"\x89PNG")
    lines = CliRunner().invoke(caches.command, asked).stdout.splitlines()
    assert any(
        re.match(rf"caches over {INT8.id}: .* times as fast as {INT8.id}, .* as street-kind", each) for each in lines
    )
    assert any(each.startswith(f"{INT8.id} answers for the other") for each in lines)
    assert f"used by nodes with caches: true that list {INT8.id}" in lines
    assert "caches that `sluice adapt` makes learn from 120 of these pictures too" in lines


def test_too_few_pictures_are_refused(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(tapped_pictures, "LEAST", 500)
    with pytest.raises(BadInput, match="caches need 500 pictures"):
        build(pictures, tmp_path)
