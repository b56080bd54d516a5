"""A worker's link: bounded whatever comes, silent about others' messages, and quick to say what is new."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.adaptation.send_rate import AT_ONCE, PER_S
from cache_adapt.adaptation.target_state import Artefact
from cache_adapt.adaptation.targets import Subject, Target
from operators.wire.adaptation import MOST_SAMPLES, SAMPLES_HEADER_KEY
from pipelines.worker.adapt import link as module
from pipelines.worker.adapt.link import Link
from pipelines.worker.adapt.messages import read_samples, read_wish, update_letter
from tests.cache_adapt.learned.taught import SPEC
from tests.fake_clock import FakeClock

SUBJECT = Subject("type", "net", "ab" * 32, "cd" * 32)
TARGET = Target(SUBJECT, SPEC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def link(clock: FakeClock) -> Link:
    return Link("street", clock)


def deliver(
    link: Link, clock: FakeClock, data: bytes, version: int, target: Target = TARGET, query: str = "street"
) -> None:
    now_s = clock.now().timestamp()
    letter = update_letter(query, Artefact(target, version, data, 0), now_s)
    link.take("topic updates", letter.key, letter.headers, letter.value)


def kinds(link: Link) -> list[str]:
    return ["samples" if letter.headers else "wish" for letter in link.letters()]


def test_samples_of_a_stream_travel_together_and_once(link: Link) -> None:
    for number in range(MOST_SAMPLES + 6):
        link.offer(SUBJECT, "gate", [number % 5], np.ones((1, 3), np.float32))
        link.offer(SUBJECT, "yard", [1], np.ones((1, 3), np.float32))
    found = [read_samples(letter.headers, letter.value) for letter in link.letters()]
    assert [(each.stream, len(each.samples)) for each in found] == [
        ("gate", MOST_SAMPLES), ("gate", 6), ("yard", MOST_SAMPLES), ("yard", 6),
    ]  # fmt: skip
    assert list(link.letters()) == []


def test_what_is_one_streams_alone_is_said_and_taken_from_that_stream_only(link: Link) -> None:
    own = replace(SUBJECT, stream="gate")
    link.offer(own, "gate", [1], np.ones((1, 3), np.float16))
    link.want(replace(TARGET, subject=own), "gate")
    samples, wish = link.letters()
    assert read_samples(samples.headers, samples.value).subject == read_wish(wish.value).target.subject == own
    with pytest.raises(ValueError, match="yard"):
        link.offer(own, "yard", [1], np.ones((1, 3), np.float16))
    with pytest.raises(ValueError, match="yard"):
        link.want(replace(TARGET, subject=own), "yard")


def test_while_the_broker_is_away_only_the_newest_samples_wait(link: Link) -> None:
    for number in range(module.MOST_WAITING + 10):
        link.offer(SUBJECT, "gate", [number], np.ones((1, 3), np.float32))
    found = [read_samples(letter.headers, letter.value) for letter in link.letters()]
    labels = [sample.label for each in found for sample in each.samples]
    assert labels == list(range(10, module.MOST_WAITING + 10))


def test_of_each_network_many_samples_are_sent_at_first_and_then_some_in_a_time(link: Link, clock: FakeClock) -> None:
    def sent(subject: Subject) -> int:
        for _ in range(module.MOST_WAITING):
            link.offer(subject, "gate", [1], np.ones((1, 3), np.float32))
        return sum(len(read_samples(letter.headers, letter.value).samples) for letter in link.letters())

    assert sum(sent(SUBJECT) for _ in range(4)) == AT_ONCE
    assert sent(replace(SUBJECT, stream="gate")) == module.MOST_WAITING
    clock.advance(60)
    assert sent(SUBJECT) == 60 * PER_S
    for number in range(module.MOST_RATES + 10):
        link.offer(replace(SUBJECT, node=str(number)), "gate", [1], np.ones((1, 3), np.float32))
    assert len(link._rates) == module.MOST_RATES


def test_what_is_no_number_is_not_sent(link: Link) -> None:
    link.offer(SUBJECT, "gate", [1, 1], np.array([[1.0, np.nan], [1e30, 1e30]], np.float32))
    (letter,) = link.letters()
    assert dict(letter.headers).keys() == {SAMPLES_HEADER_KEY}
    (sample,) = read_samples(letter.headers, letter.value).samples
    assert np.isfinite(sample.features).all()


def test_a_wish_is_sent_at_once_then_now_and_then(link: Link, clock: FakeClock) -> None:
    link.want(TARGET, "gate")
    assert link.news.is_set()
    assert kinds(link) == ["wish"]
    assert not link.news.is_set()
    link.want(TARGET, "gate")
    assert kinds(link) == []
    clock.advance(module.REPEATED_S)
    (letter,) = link.letters()
    assert read_wish(letter.value).target == TARGET


def test_a_wish_that_nobody_utters_any_more_is_dropped(link: Link, clock: FakeClock) -> None:
    link.want(TARGET, "gate")
    for _ in range(30):
        clock.advance(module.REPEATED_S)
        list(link.letters())
    assert kinds(link) == []


def test_wishes_are_bounded(link: Link) -> None:
    for number in range(module.MOST_WISHES + 10):
        link.want(TARGET, f"stream-{number}")
    assert len(kinds(link)) == module.MOST_WISHES


def test_of_several_versions_the_latest_counts_in_whichever_order_they_come(
    link: Link, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    for version in (5, 7, 6):
        deliver(link, clock, b"v%d" % version, version)
    assert link.newest(TARGET) == (7, b"v7")
    assert [record.getMessage() for record in caplog.records] == [
        "an update is refused, what is in use stays: topic updates: version 6 is stale"
    ]


def test_messages_of_other_queries_are_no_concern(
    link: Link, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    deliver(link, clock, b"theirs", 5, query="street2")
    link.take("topic updates", b"street2/x", (), b"garbage")
    link.take("topic updates", None, (), None)
    link.take("topic updates", b"street/x", (), None)
    assert link.newest(TARGET) is None
    assert caplog.records == []


def test_updates_are_bounded_in_number_and_bytes(link: Link, clock: FakeClock) -> None:
    targets = [
        replace(TARGET, subject=replace(SUBJECT, node=f"n{number}")) for number in range(module.MOST_UPDATES + 10)
    ]
    for target in targets:
        deliver(link, clock, b"small", 5, target)
    assert sum(link.newest(target) is not None for target in targets) == module.MOST_UPDATES
    for target in targets[:40]:
        deliver(link, clock, bytes(1 << 20), 6, target)
    assert sum(len(update.data) for target in targets if (update := link.newest(target))) <= module.UPDATE_BYTES
    assert link.newest(targets[39]) is not None
