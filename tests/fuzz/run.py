"""One campaign: bad messages amid good ones on every topic, then a real worker, and what came of each message.

``python -m tests.fuzz.run --messages 50000 --seed 7`` starts a broker of its own and prints the account as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import cv2
import numpy as np
import psutil
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer

from pipelines.kafka.topics import TopicsConfig
from tests.fuzz.mutations import Letter, mutated, mutated_json
from tests.integration.kafka_side import create_topic, read_all
from tests.real.broker import KafkaBroker
from tests.real.command import SLUICE, environment

QUERY = """\
version: 1
name: fuzz
slo_ms: 200
nodes:
  - {name: find, task: detect, model: motion}
  - {name: track, task: track, input: find}
  - {name: type, task: recognise, input: track, model: vehicle-type-compact, attribute: type}
"""
STREAMS = 4
AT_ONCE = 500
"""Messages that are on their way to the broker at the same time."""
WARM_UP = 100
"""Messages after which the worker's memory is read for the first time."""
STATE = {
    "schema": "sluice.state/1",
    "query": "fuzz",
    "stream": "",
    "at": "2026-01-01T00:00:00Z",
    "nodes": {"type": {"audits": {}, "version": 1}},
}


@dataclass
class Account:
    """What came of a campaign."""

    seed: int
    good: int = 0
    bad: int = 0
    good_unanswered: list[str] = field(default_factory=list)
    """Good frames without the outcome ``analysed``."""
    bad_unanswered: list[str] = field(default_factory=list)
    """Bad messages that became neither a dead letter nor a result."""
    worker_ended: bool = False
    restarts: int = 0
    grown_bytes: int = 0
    """Resident memory of the worker, from after the warm-up to the end."""
    seconds: float = 0.0
    log_tail: str = ""


class Campaign:
    """Sends a seeded mixture of good and bad messages and accounts for each."""

    def __init__(self, bootstrap: str, prefix: str, folder: Path, seed: int, messages: int) -> None:
        self._bootstrap, self._prefix, self._folder, self._messages = bootstrap, prefix, folder, messages
        self._rng = Random(seed)
        self._begun_ms = int(time.time() * 1000) - messages - 1000
        self._sent: dict[tuple[int, int], int] = {}
        """Number of each message by partition and offset."""
        self._good: dict[int, tuple[str, int]] = {}
        self.account = Account(seed)

    def run(self, patience_s: float = 120.0) -> Account:
        """Fill the topics, let a worker work until all is answered or nothing comes for ``patience_s``."""
        started = time.monotonic()
        self._make_topics()
        self._litter()
        asyncio.run(self._send())
        log = self._folder / "worker.log"
        with log.open("w") as stderr, self._worker(stderr) as worker:
            try:
                self._wait(worker, patience_s)
            finally:
                self.account.worker_ended = worker.poll() is not None
                worker.terminate()
                worker.wait(60)
        said = log.read_text()
        self.account.restarts = said.count("starting again")
        self.account.log_tail = said[-3000:]
        self.account.seconds = round(time.monotonic() - started, 1)
        return self.account

    def _topic(self, kind: str) -> str:
        return f"{self._prefix}{kind}.v1"

    def _make_topics(self) -> None:
        for name, settings in TopicsConfig(prefix=self._prefix).by_name().items():
            configs = {"max.message.bytes": str(settings.max_message_bytes), "retention.ms": "-1"}
            create_topic(self._bootstrap, name, configs, partitions=settings.partitions)

    def _litter(self) -> None:
        """Bad messages on the topics that a worker reads before its first frame."""
        producer = KafkaProducer(bootstrap_servers=self._bootstrap)
        result = self._result()
        for number in range(max(self._messages // 10, 50)):
            stream = f"old-{number % 7}"
            state = json.dumps(STATE | {"stream": stream}).encode()
            producer.send(self._topic("state"), key=f"fuzz/{stream}".encode(), value=mutated_json(self._rng, state))
            producer.send(self._topic("results"), key=stream.encode(), value=mutated_json(self._rng, result))
        producer.close()

    def _result(self) -> bytes:
        golden = Path(__file__).parents[1] / "golden" / "result-analysed.json"
        return json.dumps(json.loads(golden.read_text()) | {"query": "fuzz", "stream": "old"}).encode()

    async def _send(self) -> None:
        """By aiokafka, which sends headers without a value, as other clients do."""
        options = {"bootstrap_servers": self._bootstrap, "max_request_size": 8 << 20}
        async with AIOKafkaProducer(**options) as plain, AIOKafkaProducer(compression_type="gzip", **options) as packed:
            messages = enumerate(self._mixture())
            while some := list(islice(messages, AT_ONCE)):
                stored = [
                    await (packed if self._rng.random() < 0.2 else plain).send(
                        self._topic("frames"),
                        b"" if message.value is None and message.key is None else message.value,  # the client wants one
                        message.key,
                        partition=number % STREAMS,
                        timestamp_ms=self._begun_ms + number,
                        headers=list(message.headers),
                    )
                    for number, message in some
                ]
                for (number, _), place in zip(some, await asyncio.gather(*stored), strict=True):
                    self._sent[place.partition, place.offset] = number

    def _mixture(self) -> Iterator[Letter]:
        for number in range(self._messages):
            good = self._rng.random() < 0.5
            stream = f"good-{number % STREAMS}" if good else f"bad-{number % STREAMS}"
            message = _frame(stream, number, self._rng)
            if good:
                self._good[number] = (stream, number)
            yield message if good else mutated(self._rng, message)
        self.account.good = len(self._good)
        self.account.bad = self._messages - len(self._good)

    def _worker(self, stderr: Any) -> subprocess.Popen[bytes]:
        query = self._folder / "query.yaml"
        query.write_text(QUERY)
        words = [SLUICE, "worker", str(query), "--broker", self._bootstrap, "--prefix", self._prefix]
        return subprocess.Popen(words, stderr=stderr, stdout=subprocess.DEVNULL, env=environment())

    def _wait(self, worker: subprocess.Popen[bytes], patience_s: float) -> None:
        """Read what is answered until that is everything."""
        before, changed = -1, time.monotonic()
        warm_bytes: int | None = None
        while worker.poll() is None and time.monotonic() - changed < patience_s:
            answered = self._look()
            if answered >= WARM_UP and warm_bytes is None:
                warm_bytes = psutil.Process(worker.pid).memory_info().rss
            if not self.account.good_unanswered and not self.account.bad_unanswered:
                break
            if answered != before:
                before, changed = answered, time.monotonic()
            time.sleep(0.5 + self._messages / 10_000)
        if warm_bytes is not None and worker.poll() is None:
            self.account.grown_bytes = psutil.Process(worker.pid).memory_info().rss - warm_bytes

    def _look(self) -> int:
        """Bring the account up to date; how many messages are answered."""
        analysed: set[tuple[str, int]] = set()
        numbers: set[int] = set()
        for record in read_all(self._bootstrap, self._topic("results")):
            if record.timestamp is not None:
                numbers.add(record.timestamp - self._begun_ms)
            found = _identity(record.value)
            if found is not None:
                analysed.add(found)
        for record in read_all(self._bootstrap, self._topic("dlq")):
            letter = json.loads(record.value)
            numbers.add(self._sent[letter["partition"], letter["offset"]])
        account, places = self.account, {number: place for place, number in self._sent.items()}
        account.good_unanswered = [f"{name}" for name in self._good.values() if name not in analysed][:20]
        bad = (number for number in range(self._messages) if number not in self._good and number not in numbers)
        account.bad_unanswered = [f"message {number} at {places[number]}" for number in bad][:20]
        return len(numbers)


def _identity(value: bytes) -> tuple[str, int] | None:
    """Stream and number of an analysed frame; None for other results and for litter."""
    try:
        result = json.loads(value)
        return (str(result["stream"]), int(result["seq"])) if result["outcome"] == "analysed" else None
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
        return None


def _frame(stream: str, number: int, rng: Random) -> Letter:
    """A good frame, with something that moves."""
    image = np.full((48, 64, 3), 90, np.uint8)
    left = (number // STREAMS * 3) % 44
    image[10:30, left : left + 20] = 220
    data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, rng.randrange(70, 95)])[1].tobytes()
    header = {
        "schema": "sluice.frame/1",
        "stream": stream,
        "run": "run",
        "seq": number,
        "width": 64,
        "height": 48,
        "media_time_s": number / 25,
        "captured_at": "2026-01-01T00:00:00Z",
        "encoding": "jpeg",
    }
    return Letter(stream.encode(), data, (("frame", json.dumps(header).encode()),))


def main() -> None:
    """Run a campaign on a broker of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    with KafkaBroker() as broker, tempfile.TemporaryDirectory() as folder:
        account = Campaign(broker.bootstrap, "fuzz.", Path(folder), wanted.seed, wanted.messages).run()
    print(json.dumps(asdict(account), indent=1))
    failed = account.good_unanswered or account.bad_unanswered or account.worker_ended or account.restarts
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
