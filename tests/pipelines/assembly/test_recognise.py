"""Where the vectors of a gallery are kept, and what they follow from."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from operators.recognise.enrolment import KeptVectors
from operators.recognise.gallery import GalleryRecogniser
from operators.testing import FakeEngine, card_of
from pipelines.assembly.environment import Environment
from pipelines.assembly.recognise import looks
from pipelines.query.dag import CompiledQuery, compile_dag
from pipelines.query.nodes import RecogniseNode
from pipelines.query.query_file import Query
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue


def finder(**changes: Any) -> ModelCard:
    decoding = {"kind": "ssd", "background": 0, "min_score": 0.7, "nms_iou": 0.3}
    return card_of("find", task="detect", classes=["face"], outputs=["a", "b"], decoding=decoding | changes)


FIND = finder()
LOOK = card_of("look", task="embed", classes=None, min_similarity=0.9)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people" / "ada").mkdir(parents=True)
    cv2.imwrite(str(tmp_path / "people" / "ada" / "0.jpg"), np.full((32, 32, 3), 99, np.uint8))
    return tmp_path / "people"


def recogniser(
    people: Path,
    cards: tuple[ModelCard, ModelCard] = (FIND, LOOK),
    where: str = "find[area >= 0.1]",
    query: str = "q",
    **more: Any,
) -> GalleryRecogniser:
    detects = {"name": "find", "task": "detect", "model": "find"}
    who = {"name": "who", "task": "recognise", "input": where, "model": "look", "gallery": str(people)} | more
    wanted = Query.model_validate({"version": 1, "name": query, "slo_ms": 100, "nodes": [detects, who]})
    engine = FakeEngine(**{each.name: (each, lambda batch: [batch.mean(axis=(2, 3))]) for each in cards})
    spec = wanted.nodes[1]
    assert isinstance(spec, RecogniseNode)
    found = looks(spec, Environment.of(CompiledQuery(wanted, compile_dag(wanted), Catalogue([])), engine))
    assert isinstance(found, GalleryRecogniser)
    return found


def kept(found: GalleryRecogniser, model: str = "look") -> KeptVectors:
    where = found._kept(model)
    assert where is not None
    return where


def test_vectors_are_kept_in_the_cache(people: Path, cache: Path) -> None:
    found = recogniser(people, where="frame")
    asyncio.run(found.prepare())
    assert [*cache.rglob("*.json")] == [kept(found).path]
    assert len(kept(recogniser(people, where="frame")).read()) == 1


def test_they_are_made_anew_where_a_network_the_node_or_a_filter_is_another(people: Path) -> None:
    was = kept(recogniser(people))
    for changed in (
        recogniser(people, (finder(min_score=0.3), LOOK)),
        recogniser(people, (FIND, card_of("look", task="embed", classes=None, min_similarity=0.9, sha256="1" * 64))),
        recogniser(people, where="find[area >= 0.2]"),
        recogniser(people, margin=0.2),
    ):
        now = kept(changed)
        assert (now.path, now.way != was.way) == (was.path, True)
    assert kept(recogniser(people)) == was


def test_each_gallery_and_node_has_a_file_and_networks_elsewhere_and_in_fewer_bits_have_none(people: Path) -> None:
    was = kept(recogniser(people))
    (people.parent / "others").symlink_to(people)
    assert kept(recogniser(people.parent / "others")).path == was.path
    assert kept(recogniser(people, name="other")).path != was.path
    assert kept(recogniser(people, query="other", where="find")).path != was.path, "both would enrol at every start"
    for model in ("look on far", "look@onnxruntime-int8"):
        assert recogniser(people)._kept(model) is None
