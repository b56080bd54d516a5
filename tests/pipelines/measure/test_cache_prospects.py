"""What `sluice check` says of caches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cache_adapt.caches import store
from operators.recognise.cached import validation
from operators.recognise.cached.building import CutPlace
from pipelines.measure.cache_files import caches_file, validation_folder
from pipelines.measure.prospects import caches_used
from pipelines.query.check import examine
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.variants.artefacts import Calibration, build, identity
from serving.variants.variant import parse
from tests.operators.recognise.cached.paints import built

KNOWN = Catalogue([SHIPPED])
QUERY = """
version: 1
name: q
slo_ms: 250
accuracy: {accuracy}
streams: [{{id: a, uri: "synthetic:street"}}]
nodes:
  - {{name: detect, task: detect, model: motion}}
  - {{name: kind, task: recognise, input: detect, model: {model}{caches}}}
"""


@pytest.fixture(autouse=True)
def cache_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))


def said(
    tmp_path: Path, accuracy: float = 0.95, caches: str = ", caches: true", model: str = "street-kind"
) -> dict[str, str]:
    path = tmp_path / "q.yaml"
    path.write_text(QUERY.format(accuracy=accuracy, caches=caches, model=model))
    return dict(caches_used(examine(path, KNOWN).require()[0], KNOWN))


def store_caches(agreement: float) -> Path:
    entry = KNOWN.find("street-kind")
    made = built(agreement)
    path = caches_file(entry)
    store.write(path, replace(made, card=msgspec.structs.replace(made.card, model_identity=entry.card.identity)))
    return path


def test_nothing_is_said_of_a_node_without_caches(tmp_path):
    assert said(tmp_path, caches="") == {}


def test_it_says_where_pictures_of_a_build_are_learnt_from(tmp_path):
    entry, plan = KNOWN.find("street-kind"), [CutPlace("somewhere", (4, 1, 1), 0.4)]
    with_pictures = "with --adapt, from the pictures of the last build too"
    assert with_pictures not in said(tmp_path)["kind"]
    folder = validation_folder(entry)
    validation.write(folder, entry.card, plan, [np.zeros((9, 4), np.float32)], np.zeros(9, np.intp))
    assert with_pictures in said(tmp_path)["kind"]
    (folder / validation.CARD).write_bytes(b"{")
    assert with_pictures not in said(tmp_path)["kind"]


def test_without_built_caches_it_says_how_to_build_some(tmp_path):
    assert "by: sluice caches build street-kind --target 0.95" in said(tmp_path)["kind"]


def test_built_caches_are_named_with_what_they_promise(tmp_path):
    store_caches(0.97)
    assert "used at 2 places, built for 0.97 from 500 pictures; 1.50 times as fast" in said(tmp_path)["kind"]


def test_caches_for_less_and_damaged_ones_are_not_used(tmp_path):
    path = store_caches(0.9)
    assert "were built for 0.9, below the query's accuracy of 0.95" in said(tmp_path)["kind"]
    path.write_bytes(b"garbage")
    assert "damaged" in said(tmp_path)["kind"]


INT8 = parse("street-kind@onnxruntime-int8")


def store_int8_caches(tmp_path: Path) -> Path:
    entry, items = KNOWN.find("street-kind"), np.random.default_rng(0).random((8, 3, 32, 32), np.float32)
    items = np.resize(items, (8, *entry.card.input.item_shape)).astype(entry.card.input.dtype)
    build(entry, INT8, tmp_path, Calibration(items, "0"))
    made, path = built(0.97), caches_file(entry, INT8)
    card = msgspec.structs.replace(made.card, model=INT8.id, model_identity=identity(entry, INT8, tmp_path))
    store.write(path, replace(made, card=card))
    return path


def test_caches_in_a_listed_variant_are_named(tmp_path):
    store_int8_caches(tmp_path)
    (line,) = said(tmp_path, model=INT8.id).values()
    assert line == (
        f"once {INT8.id} has proven itself on a stream, caches of {INT8.id} will be used at 2 places, built for 0.97 "
        f"from 500 pictures; 1.50 times as fast where they were built"
    )
    both = said(tmp_path, model=f"[street-kind, {INT8.id}]")["kind"]
    assert both.startswith("no caches are built for street-kind: caches are built from the node's own looks")
    assert both.endswith(line)


def test_a_variant_without_caches_or_with_those_of_another_says_so(tmp_path):
    expected = f"no caches are built for {INT8.id}; where they pay, this builds them: "
    assert said(tmp_path, model=INT8.id)["kind"] == f"{expected}sluice caches build street-kind --target 0.95"
    path = store_int8_caches(tmp_path)
    store.write(path, built(0.97))
    line = said(tmp_path, model=INT8.id)["kind"]
    assert line.startswith(
        f"{path}: made for oracle, not for {INT8.id}; build them with: sluice caches build street-kind"
    )
    assert line.endswith(": it runs without")


def test_of_released_caches_it_says_that_they_save_nothing(tmp_path):
    store_caches(0.97)
    line = said(tmp_path, caches=", caches: release")["kind"]
    assert "will be used at 2 places" in line
    assert "go out while street-kind runs on to its end, so that no processor time is saved" in line
    both = said(tmp_path, caches=", caches: release", model=f"[street-kind, {INT8.id}]")["kind"]
    assert both.endswith(f"{INT8.id} runs without caches")


def test_caches_in_a_variant_that_is_not_listed_are_pointed_at(tmp_path):
    store_int8_caches(tmp_path)
    assert f"caches are built for {INT8.id}: list it as a model to have them used" in said(tmp_path)["kind"]
    assert "list it" not in said(tmp_path, model=INT8.id)["kind"]
