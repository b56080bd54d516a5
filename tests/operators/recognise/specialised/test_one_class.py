"""Streams that show one class only: pictures that ship are the samples of "other"."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from learning.purse import Purse
from operators.recognise.specialised import own_samples
from operators.recognise.specialised.head_stream import RESTS
from operators.recognise.specialised.own_samples import FIRST_PROFILE, STRANGERS
from serving.errors import SluiceError
from specialization.heads.enough import LEAST_OTHERS
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.specialised.shades import Scene, said, shades_of


@pytest.fixture
async def specializer() -> AsyncIterator[ThreadSpecializer]:
    made = ThreadSpecializer()
    yield made
    await made.close()


async def until_sampled(scene: Scene, count: int) -> None:
    """Show one class until so many samples are taken."""
    while scene.supply.samples.taken("tiny") < count:
        await scene.show([1])


async def test_a_stream_of_one_class_gets_a_head(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer, store=False)
    await scene.specialised([1])
    assert said(await scene.frame(1, 5)) == [("shade-1", "specialised"), ("shade-5", "oracle")]


async def test_strangers_are_samples_under_the_oracles_words(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer, store=False)
    await until_sampled(scene, FIRST_PROFILE - 1)
    assert set(scene.samples()) == {1}
    await scene.show([1] * 2)
    await scene.heads.settled()
    known = scene.samples()
    assert known.pop(1) <= FIRST_PROFILE + 1  # strangers of the usual class are none
    assert sum(known.values()) == STRANGERS
    assert len(known) > 2
    asked = [shades_of(batch)[0] for model, batch, _ in scene.engine.asked if model == "big"][-sum(known.values()) :]
    assert set(asked) - {1} <= set(known)


async def test_a_stream_of_several_classes_needs_none(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    scene = Scene(tmp_path, specializer, store=False)
    await scene.show([1, 1, 1, 2] * (FIRST_PROFILE // 4 + 1))
    await scene.heads.settled()
    assert set(scene.samples()) == {1, 2}


async def test_they_are_asked_about_once(
    tmp_path: Path, specializer: ThreadSpecializer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_samples, "strangers", list)
    scene = Scene(tmp_path, specializer, store=False)
    await until_sampled(scene, FIRST_PROFILE)
    await scene.show([1])
    await scene.heads.settled()
    monkeypatch.undo()
    await scene.show([1] * 2 * FIRST_PROFILE)
    await scene.heads.settled()
    assert set(scene.samples()) == {1}
    assert not scene.cascade().in_use


async def test_what_the_oracle_and_the_network_take_for_them_is_paid(
    tmp_path: Path, specializer: ThreadSpecializer
) -> None:
    scene = Scene(tmp_path, specializer, store=False)
    await until_sampled(scene, FIRST_PROFILE - 1)
    ledger, supply = scene.supply.books.of("cam"), scene.supply
    before_s = ledger.seconds.samples
    looks_s = supply.features.oracle_s + supply.features.look_s("tiny")
    await scene.show([1] * 2)
    await scene.heads.settled()
    assert ledger.seconds.samples - before_s > STRANGERS * looks_s


async def test_they_wait_until_they_can_be_paid(tmp_path: Path, specializer: ThreadSpecializer) -> None:
    used_s = [1000.0]
    scene = Scene(tmp_path, specializer, store=False, purse=Purse(lambda: used_s[0]))
    await until_sampled(scene, FIRST_PROFILE - 1)
    scene.supply.books.purse.spend("samples", scene.supply.books.purse.left_s - 0.5)  # enough for a profile
    await scene.show([1] * 5)
    await scene.heads.settled()
    assert set(scene.samples()) == {1}
    used_s[0] += 1000
    await scene.show([1] * (RESTS + 2))
    await scene.heads.settled()
    assert len(scene.samples()) > 1


async def test_an_oracle_that_cannot_be_asked_leaves_the_stream_as_it_is(
    tmp_path: Path, specializer: ThreadSpecializer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path, specializer, store=False)

    async def fail(crop: object) -> str:
        raise SluiceError("the oracle has failed")

    monkeypatch.setattr(scene.supply.features, "word", fail)
    await scene.show([1] * (FIRST_PROFILE + 5))
    await scene.heads.settled()
    assert set(scene.samples()) == {1}
    assert said(await scene.frame(1)) == [("shade-1", "oracle")]


def test_there_are_enough_of_them() -> None:
    assert STRANGERS >= LEAST_OTHERS
