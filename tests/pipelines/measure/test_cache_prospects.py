"""What `sluice check` says of caches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cache_adapt.caches import store
from pipelines.measure.cache_files import caches_file
from pipelines.measure.cache_prospects import caches_used
from pipelines.query.check import examine
from serving.catalogue.lookup import SHIPPED, Catalogue
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
  - {{name: kind, task: recognise, input: detect, model: street-kind{caches}}}
"""


@pytest.fixture(autouse=True)
def cache_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))


def said(tmp_path: Path, accuracy: float = 0.95, caches: str = ", caches: true") -> dict[str, str]:
    path = tmp_path / "q.yaml"
    path.write_text(QUERY.format(accuracy=accuracy, caches=caches))
    return dict(caches_used(examine(path, KNOWN).require()[0], KNOWN))


def store_caches(agreement: float) -> Path:
    entry = KNOWN.find("street-kind")
    made = built(agreement)
    path = caches_file(entry)
    store.write(path, replace(made, card=msgspec.structs.replace(made.card, model_identity=entry.card.identity)))
    return path


def test_nothing_is_said_of_a_node_without_caches(tmp_path):
    assert said(tmp_path, caches="") == {}


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
