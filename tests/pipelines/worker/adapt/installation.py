"""Workers and an adaptation worker with a topic between them that is a list: no broker, no time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cache_adapt.adaptation.jobs import Adaptation
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainer import NodeNetwork, Trainer
from learning.budget import Budget, unlimited
from pipelines.worker.adapt.link import Link
from pipelines.worker.adapt.messages import Letter, update_letter
from pipelines.worker.adapt.service import Inbox
from tests.cache_adapt.learned.taught import SHA, SPEC, WORDS, in_folds, samples
from tests.fake_clock import FakeClock

QUERY = "street"
LABELS = "cd" * 32
SUBJECT = Subject("type", "vehicle", SHA, LABELS)
NETWORKS = {"type": NodeNetwork("vehicle", SHA, LABELS, WORDS)}
TARGET = Target(SUBJECT, SPEC)


@dataclass(frozen=True)
class Record:
    """A message as a client library hands it on."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    topic: str = "topic"
    partition: int = 0
    offset: int = 0


def record(letter: Letter) -> Record:
    """A letter that arrives."""
    return Record(letter.key, letter.value, letter.headers)


def offer(link: Link, count: int, seed: int = 0, subject: Subject = SUBJECT, stream: str = "gate") -> None:
    """A worker's looks that ran to the end."""
    rows = in_folds(samples(count, seed))
    packed = SPEC.layout.packed(rows)
    link.offer(subject, stream, rows.words.tolist(), packed)


@dataclass
class Installation:
    """Its clock moves with ``pass_s``."""

    links: list[Link] = field(default_factory=list)
    budget: Budget = field(default_factory=unlimited)

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.samples: list[Record] = []
        self.updates: list[Record] = []
        self.begin_anew()

    def begin_anew(self) -> None:
        """The adaptation worker dies, and another one reads what is there."""
        self.adaptation = Adaptation(Trainer(NETWORKS), self.budget)
        self.inbox = Inbox(QUERY, self.adaptation, self.clock)
        for each in self.updates:
            self.inbox.take_update(each)  # type: ignore[arg-type]
        for each in self.samples:
            self.inbox.take_sample(each)  # type: ignore[arg-type]

    def worker(self) -> Link:
        """One more worker, which reads what was published before."""
        link = Link(QUERY, self.clock)
        for each in self.updates:
            self.arrive(link, each)
        self.links.append(link)
        return link

    def arrive(self, link: Link, each: Record) -> None:
        """A message of the topic of updates."""
        link.take("topic updates", each.key, each.headers, each.value)

    def publish(self, each: Record) -> None:
        """Anybody writes to the topic of updates."""
        self.updates.append(each)
        self.inbox.take_update(each)  # type: ignore[arg-type]
        for link in self.links:
            self.arrive(link, each)

    async def work(self) -> int:
        """Pass on all messages and train what is due; how often that was."""
        for link in self.links:
            for letter in link.letters():
                self.samples.append(record(letter))
                self.inbox.take_sample(self.samples[-1])  # type: ignore[arg-type]
        trained = 0
        while due := self.adaptation.next(self.now_s()):
            trained += 1
            if made := await self.adaptation.train(due, self.now_s):
                self.publish(record(update_letter(QUERY, made, self.now_s())))
        return trained

    def pass_s(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def now_s(self) -> float:
        return self.clock.now().timestamp()
