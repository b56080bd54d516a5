"""Learned caches as an adaptation worker trains and judges them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Rows
from cache_adapt.caches.store import BuiltCaches
from operators.recognise.cached import validation
from operators.recognise.cached.building import CutPlace
from operators.recognise.cached.cache_kind import LEAST_JUDGED, CachedOracle, CacheKind
from operators.recognise.cached.cache_specs import CachesSpec
from operators.testing import card_of
from serving.errors import ModelError, SluiceError
from tests.operators.recognise.cached.in_process import InProcess

SHA, WORDS = "0" * 64, "cd" * 32
GRID = (8, 1, 1)
SPEC = CachesSpec.of([CutPlace("early", GRID, 0.3), CutPlace("late", GRID, 0.6)], 0.9)
SUBJECT = Subject("paint", "oracle", SHA, WORDS)
TARGET = Target(SUBJECT, "caches", msgspec.json.encode(SPEC))


def kind(folder: Path, runner: InProcess | None = None) -> CacheKind:
    return CacheKind({"paint": CachedOracle("oracle", SHA, WORDS, 3)}, runner or InProcess(), folder)


def rows(count: int, seed: int = 0, turned: int = 0) -> Rows:
    """Objects of three classes, clear at both places; ``turned``: they look like the class so much further on."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count).astype(np.int32)
    looks = 4 * np.eye(8)[(labels + turned) % 3]
    taps = [looks + rng.normal(0, noise, looks.shape) for noise in (1.6, 0.6)]
    return Rows(np.concatenate(taps, axis=1).astype(np.float16), labels)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    paid: list[float] = []
    made = asyncio.run(kind(tmp_path_factory.mktemp("scratch")).train(TARGET, rows(500), 1, paid.append))
    assert paid[0] > 0
    assert made.detail.startswith("at ")
    return made.data


def test_caches_are_trained_for_the_places_that_were_wanted(data: bytes) -> None:
    built = BuiltCaches.from_bytes(data)
    assert set(built.tensors) <= {"early", "late"}
    assert (built.card.of, built.card.agreement, built.card.model_identity) == ("answers", 0.9, SHA)
    assert SPEC.why_unfit(built, SHA, 3) is None


async def test_they_are_worth_the_work_that_they_spare(data: bytes, tmp_path: Path) -> None:
    caches = kind(tmp_path)
    good = caches.judge(TARGET, data, rows(300, seed=1))
    assert good.why_not is None
    assert 0.3 < good.worth < 0.7, "no more than is left behind the first place"
    bad = caches.judge(TARGET, data, rows(300, seed=2, turned=1))
    assert "% of their answers to 300 recent samples are wrong" in str(bad.why_not)
    assert bad.worth < 0.1
    assert caches.judge(TARGET, data, rows(0)).why_not is None
    assert caches.judge(TARGET, data, rows(LEAST_JUDGED - 1, turned=1)).why_not is None


async def test_caches_that_answer_nothing_are_not_worth_their_cuts(data: bytes, tmp_path: Path) -> None:
    built = BuiltCaches.from_bytes(data)
    closed = replace(built, caches=tuple(replace(cache, threshold=0.0) for cache in built.caches))
    cards = tuple(msgspec.structs.replace(card, threshold=0.0) for card in built.card.caches)
    closed = replace(closed, card=msgspec.structs.replace(built.card, caches=cards))
    found = kind(tmp_path).judge(TARGET, closed.to_bytes(), rows(100))
    assert (found.worth, found.why_not) == (0.0, "they would save 0% of the work on 100 recent samples")


async def test_beside_a_validation_set_they_know_classes_that_no_camera_has_shown(tmp_path: Path) -> None:
    every, two = rows(600), rows(900, seed=3)
    known = two.labels < 2
    card = card_of("oracle")
    plan = SPEC.places
    ends = np.split(every.features.astype(np.float32), [8], axis=1)
    validation.write(tmp_path / "kept", card, plan, ends, every.labels.astype(np.intp))
    kept = validation.read(tmp_path / "kept", card)
    oracle, runner = CachedOracle("oracle", SHA, WORDS, 3, kept), InProcess()
    caches = CacheKind({"paint": oracle}, runner, tmp_path)
    shown = Rows(two.features[known], two.labels[known])
    made = await caches.train(TARGET, shown, 1, lambda _: None)
    alone = await kind(tmp_path).train(TARGET, shown, 1, lambda _: None)
    third = rows(900, seed=4)
    third = Rows(third.features[third.labels == 2], third.labels[third.labels == 2])
    assert caches.judge(TARGET, made.data, third).why_not is None
    assert "of their answers" in str(caches.judge(TARGET, alone.data, third).why_not)
    elsewhere = replace(TARGET, spec=msgspec.json.encode(CachesSpec.of([plan[0], replace(plan[1], tensor="x")], 0.9)))
    await caches.train(elsewhere, shown, 1, lambda _: None)
    assert [job.validation for job in runner.jobs] == [str(tmp_path / "kept"), ""], "only at its own places"


async def test_where_nothing_pays_there_is_none_and_it_is_paid_for(tmp_path: Path) -> None:
    paid: list[float] = []
    blind = Rows(np.zeros((500, 16), np.float16), rows(500).labels)
    with pytest.raises(SluiceError, match="no caches pay"):
        await kind(tmp_path).train(TARGET, blind, 1, paid.append)
    assert paid[0] > 0


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"caches":"!"}', b'{"processor_s":-1}'])
async def test_an_answer_that_makes_no_sense_is_an_error(tmp_path: Path, answer: bytes) -> None:
    paid: list[float] = []
    with pytest.raises(ModelError):
        await kind(tmp_path, InProcess(answer)).train(TARGET, rows(100), 1, paid.append)
    assert paid[0] >= 0


async def test_samples_of_other_places_are_refused(tmp_path: Path) -> None:
    narrow = Rows(np.zeros((500, 15), np.float16), rows(500).labels)
    with pytest.raises(SluiceError, match="samples of another network"):
        await kind(tmp_path).train(TARGET, narrow, 1, lambda _: None)


async def test_what_cannot_be_used_is_damaged(data: bytes, tmp_path: Path) -> None:
    caches, built = kind(tmp_path), BuiltCaches.from_bytes(data)
    foreign = replace(built, card=msgspec.structs.replace(built.card, model_identity="1" * 64)).to_bytes()
    other = CachesSpec.of([CutPlace("another", GRID, 0.3)], 0.9)
    elsewhere = replace(TARGET, spec=msgspec.json.encode(other))
    narrow = Rows(np.zeros((50, 15), np.float16), rows(50).labels)
    for target, bytes_, held in (
        (TARGET, b"garbage", rows(0)),
        (TARGET, foreign, rows(0)),
        (elsewhere, data, rows(0)),
        (TARGET, data, narrow),
    ):
        with pytest.raises(ModelError):
            caches.judge(target, bytes_, held)


def test_other_nodes_other_files_and_hostile_wishes_are_foreign(tmp_path: Path) -> None:
    caches = kind(tmp_path)
    assert caches.why_foreign(SUBJECT) is None
    assert caches.why_not(TARGET) is None
    assert "no node 'face'" in str(caches.why_foreign(replace(SUBJECT, node="face")))
    assert "no node 'paint' with caches in 'head'" in str(caches.why_foreign(replace(SUBJECT, network="head")))
    assert "another file" in str(caches.why_foreign(replace(SUBJECT, network_identity="1" * 64)))
    assert "other classes" in str(caches.why_not(replace(TARGET, subject=replace(SUBJECT, labels="00" * 32))))
    for spec in (b"", b"{}", b"[" * 5000, TARGET.spec.replace(b"0.9", b"9"), TARGET.spec.replace(b"8,", b"9999999,")):
        assert "cannot be read" in str(caches.why_not(replace(TARGET, spec=spec)))
