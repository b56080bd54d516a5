"""Workers that train nothing get their heads from an adaptation worker, all the same ones, and prove them first."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cache_adapt.adaptation.versions import digest
from operators.recognise.specialised.makers import Trained
from pipelines.worker.adapt.link import Link
from specialization.heads.head import SpecialisedHead
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.specialised.shades import Scene, said, template
from tests.pipelines.worker.adapt.installation import Installation, Record
from tests.serving.tensor_files import ODD

SHOWN = (1, 2)


@pytest.fixture
async def trainer() -> AsyncIterator[ThreadSpecializer]:
    trainer = ThreadSpecializer()
    yield trainer
    await trainer.close()


@pytest.fixture
def installation(tmp_path: Path, trainer: ThreadSpecializer) -> Installation:
    return Installation(template(tmp_path / "tiny"), trainer, tmp_path)


class Refusing(ThreadSpecializer):
    """Nobody trains in a worker."""

    async def train(self, *_: object) -> None:  # type: ignore[override]
        raise AssertionError("a worker trains")

    profile = train  # type: ignore[assignment]


def scene(folder: Path, link: Link, store: bool = True) -> Scene:
    return Scene(folder, Refusing(), elsewhere=link, store=store)


async def until_specialised(
    installation: Installation, scene: Scene, shown: Sequence[int] = SHOWN, most: int = 1200
) -> None:
    for number in range(most):
        await scene.frame(shown[number % len(shown)])
        installation.pass_s(0.2)
        await installation.work()
        await asyncio.sleep(0)
        if scene.cascade().in_use:
            return
    raise AssertionError("no head")


async def test_a_head_comes_from_elsewhere_and_answers_once_it_is_trusted(
    installation: Installation, tmp_path: Path
) -> None:
    shown = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, shown)
    used = shown.cascade().in_use
    assert used
    assert used.head.classes == SHOWN
    assert said(await shown.frame(1)) == [("shade-1", "oracle")], "it has to prove itself first"
    shown.serve("specialised", used.number)
    assert said(await shown.frame(1)) == [("shade-1", "specialised")]
    assert said(await shown.frame(7)) == [("shade-7", "oracle")]
    assert not shown.samples_at.exists(), "samples are kept elsewhere"


async def test_workers_of_one_query_get_the_same_head_and_it_is_trained_once(
    installation: Installation, tmp_path: Path
) -> None:
    first = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, first)
    second = scene(tmp_path / "b", installation.worker())
    published = len(installation.updates)
    await until_specialised(installation, second)
    one, other = first.cascade().in_use, second.cascade().in_use
    assert one
    assert other
    assert one.head.to_bytes() == other.head.to_bytes()
    assert len(installation.updates) == published == 1


async def test_without_a_training_set_rates_come_from_elsewhere_too(trainer: ThreadSpecializer, tmp_path: Path) -> None:
    installation = Installation(template(tmp_path / "tiny", store=False), trainer, tmp_path)
    shown = scene(tmp_path / "a", installation.worker(), store=False)
    for number in range(300):
        await shown.frame(number % 8)
        installation.pass_s(0.2)
        await installation.work()
    await shown.heads.settled()
    await until_specialised(installation, shown)
    assert shown.cascade().in_use


@pytest.mark.parametrize("store", [True, False])
async def test_a_stream_of_one_class_gets_a_head_where_others_show_other_classes(
    trainer: ThreadSpecializer, tmp_path: Path, store: bool
) -> None:
    installation = Installation(template(tmp_path / "tiny", store=store), trainer, tmp_path)
    one, others = (scene(tmp_path / name, installation.worker(), store=store) for name in "ab")
    for number in range(0 if store else 400):
        await others.frame(number % 8, stream="yard")
        await one.frame(1)
        installation.pass_s(0.2)
        await installation.work()
    await one.heads.settled()
    await until_specialised(installation, one, shown=(1,))
    used = one.cascade().in_use
    assert used
    assert used.head.classes == (1,)
    one.serve("specialised", used.number)
    assert said(await one.frame(1)) == [("shade-1", "specialised")]
    assert said(await one.frame(5)) == [("shade-5", "oracle")]


def renewed(installation: Installation, head: SpecialisedHead) -> Record:
    """A later version of the head that was published first: a little surer."""
    return later(installation, replace(head, least_confidence=0.99).to_bytes())


def later(installation: Installation, data: bytes) -> Record:
    """A later version of what was published first."""
    installation.pass_s(1000.0)
    (name, header), version = installation.updates[0].headers[0], int(installation.now_s())
    news = json.loads(header or b"") | {"version": version, "sha256": digest(data)}
    return Record(installation.updates[0].key, data, ((name, json.dumps(news).encode()),))


async def test_a_later_version_takes_the_place_of_the_head_in_use_and_proves_itself_anew(
    installation: Installation, tmp_path: Path
) -> None:
    shown = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, shown)
    before = shown.cascade().in_use
    assert before
    shown.serve("specialised", before.number)
    installation.publish(renewed(installation, before.head))
    assert said(await shown.frame(1)) == [("shade-1", "specialised")], "nothing changes within a frame"
    assert said(await shown.frame(1)) == [("shade-1", "oracle")]
    after = shown.cascade().in_use
    assert after
    assert (after.number > before.number, after.head.least_confidence) == (True, 0.99)
    assert shown.plan().phase == "shadow"


async def test_a_restarted_worker_goes_on_with_the_version_that_it_had(
    installation: Installation, tmp_path: Path
) -> None:
    shown = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, shown)
    used = shown.cascade().in_use
    saved = shown.node.snapshot("cam")
    assert used
    assert saved
    again = scene(tmp_path / "b", installation.worker())
    again.node.restore("cam", saved)
    await again.frame(1)
    assert again.cascade().in_use
    assert again.cascade().in_use.number == used.number


async def test_an_adaptation_worker_that_dies_goes_on_where_it_was(installation: Installation, tmp_path: Path) -> None:
    shown = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, shown)
    installation.begin_anew()
    assert await installation.work() == 0, "there is nothing to train again"
    assert len(installation.updates) == 1
    assert installation.adaptation.samples > 0


async def test_a_head_for_another_network_is_dropped_before_it_can_fail_a_frame(
    installation: Installation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, shown)
    used = shown.cascade().in_use
    assert used
    shown.serve("specialised", used.number)
    misfit = Trained(replace(used.head, weights=used.head.weights[:-1]))
    shown.cascade()._heads.put(used.number, misfit)
    assert said(await shown.frame(1)) == [("shade-1", "oracle")]
    assert "does not fit the network tiny" in caplog.text


async def test_without_an_adaptation_worker_the_oracle_goes_on_and_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    shown = Scene(tmp_path, Refusing(), elsewhere=Link("street"))
    shown.supply._maker._patience_s = 0.0  # type: ignore[attr-defined]
    for number in range(100):
        await shown.frame(SHOWN[number % 2])
        await asyncio.sleep(0.001)
    await shown.heads.settled()
    assert "is `sluice adapt` running?" in caplog.text
    assert said(await shown.frame(1)) == [("shade-1", "oracle")]


@pytest.mark.parametrize("name", ODD)
async def test_a_version_that_cannot_be_read_costs_one_line_and_no_frame(
    installation: Installation, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    shown = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, shown)
    shown.serve("specialised", 1)
    before = shown.cascade().in_use
    assert before
    installation.publish(later(installation, ODD[name]))
    for _ in range(8):
        assert said(await shown.frame(1)) == [("shade-1", "specialised")]
    assert shown.cascade().in_use == before
    assert caplog.text.count("is refused: a specialised head is damaged") == 1
    assert "passed over" not in caplog.text, "the adaptation worker knows of the version"
    await until_renewed(installation, shown, before.number)


async def until_renewed(installation: Installation, shown: Scene, number: int) -> None:
    """What the adaptation worker makes in the place of a version that nobody can read is taken."""
    for place in range(400):
        await shown.frame(SHOWN[place % 2])
        installation.pass_s(0.2)
        await installation.work()
        used = shown.cascade().in_use
        assert used
        if used.number > number:
            return
    raise AssertionError("no later version")


async def test_hostile_updates_are_refused_once_each_and_what_is_in_use_stays(
    installation: Installation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = scene(tmp_path / "a", installation.worker())
    await until_specialised(installation, shown)
    (good,) = installation.updates
    before = shown.cascade().in_use
    for bad in hostile(good, int(installation.now_s())):
        installation.publish(bad)
    for _ in range(5):
        await shown.frame(1)
    assert shown.cascade().in_use == before
    assert len([each for each in caplog.records if each.name.startswith(("pipelines", "operators"))]) <= 12


def hostile(good: Record, now_s: int) -> list[Record]:
    """What somebody might write in place of a good update."""
    key, ((name, header), *_) = good.key, good.headers
    assert header
    return [
        Record(key, b"garbage", good.headers),
        Record(key, (good.value or b"")[:-7], good.headers),
        Record(key, bytes(2 << 20), good.headers),
        Record(key, good.value),
        Record(key, good.value, ((name, b"{}"),)),
        Record(key, good.value, ((name, header[:-9]),)),
        Record(key, good.value, ((name, header), (name, header))),
        Record(b"other/type/head/x", good.value, good.headers),
        Record((key or b"") + b"x", good.value, good.headers),
        Record(None, None),
        Record(key, None),
        good,
    ]
