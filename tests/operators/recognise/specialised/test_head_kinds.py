"""Heads and their rates as an adaptation worker trains and judges them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Rows
from operators.recognise.specialised.head_kinds import HeadKind, KnownTemplate, RatesKind, TrainingSamples
from serving.errors import ModelError, SluiceError
from specialization.heads import measured
from specialization.heads.head import SpecialisedHead
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.specialised.shades import SHADES, one_hot, template

SUBJECT = Subject("type", "tiny", "ab" * 32, "cd" * 32)
TARGET = Target(SUBJECT, "head", b'{"classes":[1,2],"training_skew":0.6,"tolerance":0.1}')
RATES = Target(SUBJECT, "head_rates", b"{}")


@pytest.fixture
async def trainer() -> AsyncIterator[ThreadSpecializer]:
    trainer = ThreadSpecializer()
    yield trainer
    await trainer.close()


def rows(*shades: int, times: int = 1, seen_as: int = 0) -> Rows:
    """Objects of these shades, which look as if they were ``seen_as`` shades further on."""
    labels = np.tile(shades, times).astype(np.int32)
    rng = np.random.default_rng(5)
    looks = one_hot((labels + seen_as) % len(SHADES)) * 4 + rng.normal(0, 0.1, (len(labels), len(SHADES)))
    return Rows(looks.astype(np.float16), labels)


def kind(folder: Path, trainer: ThreadSpecializer, store: bool = True, sha256: str | None = None) -> HeadKind:
    known = KnownTemplate(template(folder / "tiny", store), sha256, "cd" * 32)
    return HeadKind(TrainingSamples({("type", "tiny"): known}, folder), trainer)


async def made(kind: HeadKind, seen: Rows) -> bytes:
    paid: list[float] = []
    found = await kind.train(TARGET, seen, 1, paid.append)
    assert paid[0] > 0
    assert found.detail.startswith("classes 1, 2; answers for ")
    return found.data


@pytest.mark.parametrize("seen", [rows(), rows(1, 2, 3, times=50)])
async def test_a_head_is_trained_on_the_training_set_and_on_what_was_seen(
    tmp_path: Path, trainer: ThreadSpecializer, seen: Rows
) -> None:
    data = await made(kind(tmp_path, trainer), seen)
    assert SpecialisedHead.from_bytes(data).classes == (1, 2)


async def test_without_a_training_set_samples_are_needed(tmp_path: Path, trainer: ThreadSpecializer) -> None:
    heads = kind(tmp_path, trainer, store=False)
    with pytest.raises(SluiceError, match="there are no samples yet"):
        await made(heads, rows())
    with pytest.raises(SluiceError, match="a head needs 30"):
        await made(heads, rows(1, 2, times=50))
    assert await made(heads, rows(*range(8), times=50))


async def test_a_head_is_worth_what_it_answers_rightly(tmp_path: Path, trainer: ThreadSpecializer) -> None:
    heads = kind(tmp_path, trainer)
    data = await made(heads, rows())
    for others in ((0, 7), (0, 5, 6, 7), ()):
        good = heads.judge(TARGET, data, rows(1, 2, *others, times=50))
        assert (good.worth, good.why_not) == (pytest.approx(0.8 if others else 1.0, abs=0.02), None)
    bad = heads.judge(TARGET, data, rows(1, 0, times=50, seen_as=1))
    assert bad.worth == 0
    assert bad.why_not == "100% of its answers to 100 recent samples are wrong"
    assert heads.judge(TARGET, data, rows()).why_not is None


async def test_what_cannot_be_used_is_damaged(tmp_path: Path, trainer: ThreadSpecializer) -> None:
    heads = kind(tmp_path, trainer)
    data = await made(heads, rows())
    narrow = replace(SpecialisedHead.from_bytes(data), weights=np.zeros((3, 3), np.float32)).to_bytes()
    other = replace(TARGET, spec=TARGET.spec.replace(b"[1,2]", b"[1,3]"))
    for target, bytes_, held in ((TARGET, b"garbage", rows()), (TARGET, narrow, rows(1)), (other, data, rows())):
        with pytest.raises(ModelError):
            heads.judge(target, bytes_, held)


@pytest.mark.parametrize(
    "spec",
    [b"", b"{}", b"[]", b'{"classes":[],"training_skew":0.6,"tolerance":0.1}', b"[" * 5000]
    + [
        TARGET.spec.replace(old, new)
        for old, new in ((b"0.6", b"7"), (b"0.1", b"-1"), (b"1,2", b"-1"), (b"1,2", b"1,2,1"), (b"}", b',"a":1}'))
    ],
)
async def test_a_wish_that_makes_no_sense_is_said(tmp_path: Path, trainer: ThreadSpecializer, spec: bytes) -> None:
    assert "cannot be read" in str(kind(tmp_path, trainer).why_not(replace(TARGET, spec=spec)))


async def test_other_nodes_and_other_files_are_foreign(tmp_path: Path, trainer: ThreadSpecializer) -> None:
    heads = kind(tmp_path, trainer, sha256="ab" * 32)
    assert heads.why_foreign(SUBJECT) is None
    assert heads.why_not(TARGET) is None
    assert "no node 'face'" in str(heads.why_foreign(replace(SUBJECT, node="face")))
    assert "other classes" in str(heads.why_foreign(replace(SUBJECT, labels="00" * 32)))
    assert "another file" in str(heads.why_foreign(replace(SUBJECT, network_identity="00" * 32)))


async def test_rates_are_measured_on_samples_and_worth_more_the_more_there_are(
    tmp_path: Path, trainer: ThreadSpecializer
) -> None:
    rates = RatesKind(
        TrainingSamples(
            {("type", "tiny"): KnownTemplate(template(tmp_path / "tiny", store=False), None, None)}, tmp_path
        ),
        trainer,
    )
    assert rates.why_not(RATES) is None
    made = await rates.train(RATES, rows(*range(8), times=20), 1, lambda _: None)
    found, samples = measured.from_bytes(made.data)
    assert samples == 160
    assert found[-1].rates[1].a_in > 0.9
    assert (
        0.9
        < rates.judge(RATES, made.data, rows()).worth
        < rates.judge(RATES, measured.to_bytes(found, 400), rows()).worth
    )
    with pytest.raises(ModelError):
        rates.judge(RATES, b"garbage", rows())
