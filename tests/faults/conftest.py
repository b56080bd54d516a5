"""One broker for the tests that leave it alone, and a place of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.faults.accounts import answered, unanswered
from tests.faults.scene import FPS, write_clip, write_query
from tests.real.kafka import KafkaBroker
from tests.real.process import Sluice, until
from tests.real.topic import Topics


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds, 25 frames each."""
    return write_clip(tmp_path_factory.mktemp("clip") / "boxes.mp4")


@dataclass(frozen=True)
class Site:
    """A broker, topics of its own on it, a query for them, and a folder."""

    bootstrap: str
    prefix: str
    folder: Path
    topics: Topics
    """As an independent consumer reads them."""

    def query(self, *uris: object) -> Path:
        """A query file on these sources."""
        streams = {f"s{number}": str(uri) for number, uri in enumerate(uris)}
        return write_query(self.folder / "query.yaml", self.prefix, streams)

    def create_topics(self, query: Path) -> None:
        """`sluice topics create`, where no capture does it."""
        with self._sluice("topics", "create", query) as made:
            assert made.wait() == 0, made.errors

    def capture(self, query: Path, frames: int | None = None, *options: object) -> Sluice:
        """`sluice capture`, files at their own pace and over and over."""
        limit = [] if frames is None else ["--limit", frames]
        return self._sluice("capture", query, "--realtime", "--loop", *limit, *options)

    def worker(self, query: Path, *options: object, **variables: object) -> Sluice:
        """`sluice worker`."""
        return self._sluice("worker", query, *options, **variables)

    def watch(self, *options: object) -> Sluice:
        """`sluice watch` on these topics."""
        return self._sluice("watch", "--prefix", self.prefix, *options)

    def wait_for_results(self, *running: Sluice) -> None:
        """Until there are two seconds' worth of new results."""
        enough = self.topics.count("results") + 2 * FPS
        until(lambda: self.topics.count("results") >= enough, f"{enough} results", *running)

    def wait_for_the_present(self, *running: Sluice) -> None:
        """Until a frame that is captured from now on has its result: what waited before it is delivered."""
        now = datetime.now(UTC)
        until(lambda: self.topics.results()[-1].frame.captured_at > now, "a result of the present", *running)

    def finish(self, capture: Sluice, *workers: Sluice) -> None:
        """End the capture, and the workers when every frame has its result."""
        assert capture.terminate() == 0, capture.errors
        try:
            until(lambda: answered(self.topics), "results of all frames", *workers)
        except AssertionError as error:
            raise AssertionError(f"{error}\nthere is none of {unanswered(self.topics)}") from None
        for worker in workers:
            assert worker.terminate() == 0, worker.errors

    def _sluice(self, *arguments: object, **variables: object) -> Sluice:
        return Sluice(self.folder / str(arguments[0]), *arguments, broker=self.bootstrap, **variables)


@contextmanager
def make_site(bootstrap: str, folder: Path, prefix: str = "sluice.") -> Iterator[Site]:
    """On any broker, which need not be there yet."""
    with Topics(bootstrap, prefix) as topics:
        yield Site(bootstrap, prefix, folder, topics)


@pytest.fixture
def site(kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path) -> Iterator[Site]:
    """On the broker that all tests share."""
    with make_site(kafka_broker.bootstrap, tmp_path, topic_prefix) as site:
        yield site


@pytest.fixture
def own_site(own_kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Site]:
    """On a broker that the test may stop."""
    with make_site(own_kafka_broker.bootstrap, tmp_path) as site:
        yield site
