"""Workers that train nothing get their exits from an adaptation worker, all the same ones."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from cache_adapt.adaptation.triggers import PERIOD_S
from cache_adapt.adaptation.updates import Update
from cache_adapt.adaptation.versions import digest
from cache_adapt.adaptation.window import Sample
from cache_adapt.learned.artefact import ExitArtefact
from operators.wire.adaptation import MOST_SAMPLES
from pipelines.worker.adapt.link import Link
from pipelines.worker.adapt.messages import SampleBatch, samples_letter
from tests.cache_adapt.learned.taught import LABELS, SHA, SPEC
from tests.pipelines.worker.adapt.installation import QUERY, SUBJECT, TARGET, Installation, Record, offer, record
from tests.serving.tensor_files import ODD


@pytest.fixture
def installation() -> Installation:
    return Installation()


async def made(installation: Installation, link: Link, count: int = 300, seed: int = 0) -> Update:
    """What comes of so many looks at stream gate."""
    link.want(TARGET, "gate")
    offer(link, count, seed)
    await installation.work()
    update = link.newest(TARGET)
    assert update is not None
    return update


async def test_exits_come_and_workers_of_one_query_get_the_same(installation: Installation) -> None:
    first, second = installation.worker(), installation.worker()
    update = await made(installation, first)
    artefact = ExitArtefact.from_bytes(update.data)
    assert SPEC.why_unfit(artefact.card, SHA) is None
    assert second.newest(TARGET) == installation.worker().newest(TARGET) == update
    second.want(TARGET, "yard")
    assert await installation.work() == 0, "there is nothing to train again"


async def test_samples_of_all_workers_come_together_but_not_those_of_one_stream_alone(
    installation: Installation,
) -> None:
    links = [installation.worker(), installation.worker()]
    own = replace(SUBJECT, stream="gate")
    for seed, link in enumerate(links):
        link.want(TARGET, f"stream-{seed}")
        link.want(replace(TARGET, subject=own), "gate")
        offer(link, 80, seed, stream=f"stream-{seed}")
    offer(links[0], 149, subject=own)
    assert await installation.work() == 1
    assert links[0].newest(TARGET)
    assert links[0].newest(replace(TARGET, subject=own)) is None
    offer(links[0], 1, subject=own)
    assert await installation.work() == 1
    assert links[0].newest(replace(TARGET, subject=own))


async def test_with_twice_as_many_samples_others_come_where_they_are_better(installation: Installation) -> None:
    link = installation.worker()
    few = await made(installation, link, 150)
    offer(link, 150, seed=1)
    assert await installation.work() == 1
    offer(link, 300, seed=2)
    assert await installation.work() == 1
    more = link.newest(TARGET)
    assert more
    assert (more.version > few.version, more.data != few.data) == (True, True)


async def test_an_adaptation_worker_that_dies_goes_on_where_it_was(installation: Installation) -> None:
    link = installation.worker()
    before = await made(installation, link)
    installation.begin_anew()
    assert await installation.work() == 0, "there is nothing to train again"
    assert installation.adaptation.samples == 300
    assert link.newest(TARGET) == before


@pytest.mark.parametrize(
    ("label", "dims"),
    [(99_999, SPEC.layout.dims), (LABELS + 1, SPEC.layout.dims), (0, SPEC.layout.dims + 1), (0, 1)],
    ids=str,
)
async def test_samples_that_are_of_no_use_keep_nobody_from_being_trained(
    installation: Installation, label: int, dims: int
) -> None:
    link = installation.worker()
    link.want(TARGET, "gate")
    odd = Sample(installation.now_s(), label, np.zeros(dims, np.float16))
    for _ in range(10):
        letter = samples_letter(SampleBatch(QUERY, SUBJECT, "yard", [odd] * MOST_SAMPLES), installation.now_s())
        installation.inbox.take_sample(record(letter))  # type: ignore[arg-type]
    offer(link, 300)
    await installation.work()
    assert link.newest(TARGET)


async def test_where_the_query_names_other_words_or_another_network_nothing_is_trained(
    installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    link = installation.worker()
    words = msgspec.structs.replace(SPEC.vocabulary, least_confidence=0.5)
    others = [
        replace(TARGET, spec=msgspec.structs.replace(SPEC, vocabulary=words)),
        replace(TARGET, subject=replace(SUBJECT, network_identity="ee" * 32)),
        replace(TARGET, subject=replace(SUBJECT, labels="ee" * 32)),
        replace(TARGET, subject=replace(SUBJECT, node="nowhere")),
    ]
    for target in others:
        link.want(target, "gate")
        offer(link, 60, subject=target.subject)
    assert await installation.work() == 0
    assert "passed over" in caplog.text
    assert installation.adaptation.targets == 0


def later(installation: Installation, data: bytes) -> Record:
    """A later version of what was published first, by somebody else."""
    installation.pass_s(100.0)
    (name, header), version = installation.updates[0].headers[0], int(installation.now_s())
    news = json.loads(header or b"") | {"version": version, "sha256": digest(data)}
    return Record(installation.updates[0].key, data, ((name, json.dumps(news).encode()),))


@pytest.mark.parametrize("name", ODD)
async def test_a_version_that_cannot_be_read_is_made_anew(
    installation: Installation, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    link = installation.worker()
    await made(installation, link)
    installation.publish(bad := later(installation, ODD[name]))
    broken = link.newest(TARGET)
    assert broken
    assert broken.data == bad.value, "whoever uses it checks it"
    assert await installation.work() == 1
    again = link.newest(TARGET)
    assert again
    assert again.version > broken.version
    assert ExitArtefact.from_bytes(again.data)
    assert "passed over" not in caplog.text


async def test_hostile_updates_are_refused_and_what_is_there_stays(
    installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    link = installation.worker()
    before = await made(installation, link)
    (good,) = installation.updates
    for bad in hostile(good):
        installation.publish(bad)
    assert link.newest(TARGET) == before
    installation.pass_s(PERIOD_S)
    link.want(TARGET, "gate")
    await installation.work()
    assert len([each for each in caplog.records if each.name.startswith("pipelines")]) <= 12


def hostile(good: Record) -> list[Record]:
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
        Record(b"other/type/exits/x", good.value, good.headers),
        Record((key or b"") + b"x", good.value, good.headers),
        Record(None, None),
        Record(key, None),
        good,
    ]
