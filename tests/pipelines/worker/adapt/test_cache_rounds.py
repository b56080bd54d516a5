"""Workers that build no caches get them from an adaptation worker, all the same ones, and prove them first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cache_adapt.adaptation.send_rate import AT_ONCE
from cache_adapt.adaptation.trainable import Trainable
from cache_adapt.adaptation.triggers import PAUSE_S, PERIOD_S
from cache_adapt.adaptation.versions import digest
from cache_adapt.caches.store import BuiltCaches
from learning.purse import Purse
from operators.recognise.cached.cache_kind import CachedOracle, CacheKind
from operators.recognise.cached.supply import SILENT_EVERY
from operators.recognise.labels import Labels
from operators.recognise.shortcuts.shortcut import AuditOutcome
from operators.testing.engine import COLOURS
from pipelines.worker.adapt.link import Link
from specialization.trainer.trainer import ThreadSpecializer
from tests.operators.recognise.cached.in_process import InProcess
from tests.operators.recognise.cached.paints import ORACLE_CARD, World, built, looked, ready, validation_set
from tests.operators.recognise.specialised.shades import template
from tests.pipelines.worker.adapt.installation import Installation, Record
from tests.serving.tensor_files import ODD

FRAMES = AT_ONCE // 20
"""So many frames of twenty looks bring all the samples that are sent at first."""
PARTS = 5
"""Fewer samples wait to be sent."""


class Painted(Installation):
    """Its adaptation worker trains caches."""

    def kinds(self) -> list[Trainable]:
        self.runner = InProcess()
        oracle = CachedOracle("oracle", ORACLE_CARD.identity, Labels(COLOURS).digest, 3)
        return [CacheKind({"paint": oracle}, self.runner, self.scratch)]


@pytest.fixture
def painted(tmp_path: Path) -> Painted:
    return Painted(template(tmp_path / "tiny"), ThreadSpecializer(), tmp_path)


async def world(painted: Painted, folder: Path, link: Link, purse: Purse | None = None) -> World:
    paid = {"purse": lambda: purse} if purse else {}
    made = World(folder, None, elsewhere=link, clock=painted.clock, every=1, **paid)
    assert made.builder.jobs == []
    return await ready(made)


async def served(painted: Painted, the: World) -> int:
    """Look until caches have come; how often something was trained."""
    trained = 0
    for _ in range(PARTS):
        await looked(the, FRAMES // PARTS)
        trained += await painted.work()
    painted.pass_s(2)
    await looked(the, 1)
    return trained


async def test_caches_come_and_answer_and_a_second_worker_gets_the_same(painted: Painted, tmp_path: Path) -> None:
    link = painted.worker()
    first = await world(painted, tmp_path / "first", link)
    assert await served(painted, first) >= 1
    assert first.caches.edition("cam") == 1
    assert first.builder.jobs == [], "nothing is built here"
    before = len(first.engine.asked)
    await looked(first, 5)
    assert {model for model, _, _ in first.engine.asked[before:]} == {"oracle+exits"}
    second = await world(painted, tmp_path / "second", painted.worker())
    second.engine.costs_s = {"oracle": 0.014, "oracle+exits": 0.008}  # another machine
    await looked(second, 1)
    assert second.caches.edition("cam") == 1, "it gets what is there at once"
    painted.pass_s(PAUSE_S)
    assert await painted.work() == 0, "and wants nothing else"
    assert len(painted.updates) == 1


async def test_samples_go_on_while_caches_answer_and_are_few(painted: Painted, tmp_path: Path) -> None:
    link = painted.worker()
    the = await world(painted, tmp_path, link)
    await served(painted, the)
    known = painted.adaptation.samples
    for _ in range(2 * SILENT_EVERY):
        painted.pass_s(1.0)
        await looked(the, 1)
    await painted.work()
    assert painted.adaptation.samples - known in (20, 40), "one frame of twenty looks, perhaps two"
    painted.pass_s(PERIOD_S)
    for _ in range(5 * SILENT_EVERY):
        painted.pass_s(2.0)
        await looked(the, 1)
    assert await painted.work() >= 1, "trained anew on schedule"


async def test_built_caches_answer_until_adapted_ones_come(painted: Painted, tmp_path: Path) -> None:
    link = painted.worker()
    kept = validation_set(tmp_path / "kept")
    the = await ready(World(tmp_path, built(), elsewhere=link, clock=painted.clock, every=1, validation=kept))
    assert the.caches.edition("cam") == 1
    trained = 0
    for _ in range(SILENT_EVERY * FRAMES // PARTS):  # one frame in so many goes through as a whole
        painted.pass_s(0.1)
        await looked(the, PARTS)
        trained += await painted.work()
    painted.pass_s(2)
    await looked(the, 1)
    assert trained >= 1
    assert the.caches.edition("cam") > 1


async def test_built_caches_that_cannot_be_adapted_stay(painted: Painted, tmp_path: Path) -> None:
    the = await ready(World(tmp_path, built(), elsewhere=painted.worker(), clock=painted.clock, every=1))
    await looked(the, FRAMES // PARTS)
    await painted.work()
    assert painted.adaptation.targets == painted.adaptation.samples == 0
    assert the.caches.edition("cam") == 1


async def test_an_adaptation_worker_that_begins_anew_goes_on(painted: Painted, tmp_path: Path) -> None:
    link = painted.worker()
    the = await world(painted, tmp_path, link)
    await served(painted, the)
    painted.begin_anew()
    await looked(the, 1)
    assert await painted.work() == 0
    assert the.caches.edition("cam") == 1


async def test_bad_updates_are_refused_and_the_caches_in_use_stay(
    painted: Painted, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    link = painted.worker()
    the = await world(painted, tmp_path, link)
    await served(painted, the)
    (good,) = painted.updates
    (name, header) = good.headers[0]
    version = int(header.split(b'"version":')[1].split(b",")[0])
    foreign = replace(BuiltCaches.from_bytes(good.value), card=built().card)
    worse = built(0.5)
    bad = (b"garbage", bytes(2 << 20), worse.to_bytes(), foreign.to_bytes(), *ODD.values())
    for number, data in enumerate(bad, 1):
        told = header.replace(digest(good.value).encode(), digest(data).encode())
        told = told.replace(str(version).encode(), str(version + number).encode())
        painted.arrive(link, Record(good.key, data, [(name, told)]))
        painted.pass_s(2)
        await looked(the, 1)
        assert the.caches.edition("cam") == 1
    assert caplog.text.count("of its caches is refused") == len(bad) - 1
    assert "too large" in caplog.text


async def test_caches_that_would_not_pay_on_this_machine_are_not_used(
    painted: Painted, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO")
    link = painted.worker()
    await served(painted, await world(painted, tmp_path / "first", link))
    second = await world(painted, tmp_path / "second", painted.worker())
    second.engine.costs_s["oracle"] = 0.0026  # where a lookup takes as long
    monkeypatch.setattr("operators.recognise.cached.made_elsewhere.lookup_s", lambda cache, clock: 0.003)
    await looked(second, 1)
    assert second.caches.edition("cam") is None
    assert "would not pay here" in caplog.text


async def test_an_empty_purse_sends_no_samples(painted: Painted, tmp_path: Path) -> None:
    the = await world(painted, tmp_path, painted.worker(), Purse(lambda: 0.0))
    await looked(the, FRAMES // PARTS)
    await painted.work()
    assert painted.adaptation.samples == 0
    assert painted.adaptation.targets == 1, "but it says what it wants"


async def test_a_fast_oracle_wants_nothing(painted: Painted, tmp_path: Path) -> None:
    the = await world(painted, tmp_path, painted.worker())
    the.engine.costs_s["oracle"] = 0.001
    await looked(the, FRAMES // PARTS)
    await painted.work()
    assert (painted.adaptation.samples, painted.adaptation.targets) == (0, 0)


async def test_audits_that_disagree_have_them_trained_anew(painted: Painted, tmp_path: Path) -> None:
    the = await world(painted, tmp_path, painted.worker())
    await served(painted, the)
    for _ in range(40):
        the.caches.audited(AuditOutcome("cam", "cached", False, "red", None, 1))
    the.caches.barred("cam")
    assert the.caches.edition("another") == 1, "they stay for streams where they agree"
    reasons = []
    for _ in range(4 * SILENT_EVERY):
        painted.pass_s(2.0)
        await looked(the, 1)
    for link in painted.links:
        for letter in link.letters():
            painted.inbox.take_sample(Record(letter.key, letter.value, letter.headers))
    if due := painted.adaptation.next(painted.now_s()):
        reasons.append(due.reason)
    assert reasons == ["agreement"]
