"""The dead-letter topic as it is at present, read without leaving a trace on the broker."""

from __future__ import annotations

import base64
import binascii
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from msgspec import structs

from operators.frames.codec import FrameError, decode_frame, read_header
from operators.transports.record_sets import UNREADABLE
from operators.wire.schema import FRAME_HEADER_KEY, DeadLetter, from_json, to_json
from pipelines.kafka.sync_clients import consumer, read_between
from pipelines.kafka.topics import TopicsConfig
from pipelines.settings import BrokerSettings
from serving.errors import BadInput, Malformed, Unavailable

log = logging.getLogger(__name__)

TITLES = f"{'PLACE':10}  {'AT UTC':19}  {'REASON':17}  {'KEY':16}  {'BYTES':>9}  MESSAGE"


@dataclass(frozen=True, order=True)
class Place:
    """Where a letter lies in the dead-letter topic; written ``PARTITION:OFFSET``."""

    partition: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read ``PARTITION:OFFSET``; raises BadInput."""
        match = re.fullmatch(r"(\d{1,9}):(\d{1,18})", text)
        if match is None:
            raise BadInput(f"{text!r} is no place of a dead letter: `sluice dlq list` shows them, such as 0:17")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"


@dataclass(frozen=True)
class Mend:
    """Replacements for parts of a message that is put back; None keeps the part as it was."""

    header: bytes | None = None
    """JSON of the frame's header."""
    image: bytes | None = None
    captured_at: datetime | None = None


@dataclass(frozen=True)
class Remade:
    """A message to put back on the frames topic."""

    key: bytes
    value: bytes
    headers: Mapping[str, bytes]


def letter_line(place: Place, letter: DeadLetter) -> str:
    """Columns under ``TITLES``."""
    at = letter.at.strftime("%Y-%m-%d %H:%M:%S")
    key = "-" if letter.key is None else letter.key
    return f"{place!s:10}  {at:19}  {letter.reason:17.17}  {key:16.16}  {letter.value_bytes:9d}  {letter.message}"


def letter_text(place: Place, letter: DeadLetter) -> str:
    """Everything but the bytes of the message, a field a line."""
    kept = "kept" if letter.value_base64 is not None else "not kept: too many"
    fields = {
        "place": str(place),
        "reason": letter.reason,
        "message": letter.message,
        "from": f"{letter.topic} partition {letter.partition} offset {letter.offset}",
        "key": "-" if letter.key is None else letter.key,
        "at": letter.at.isoformat(),
        "bytes": f"{letter.value_bytes} ({kept})",
        **{f"header {name}": content for name, content in letter.headers.items()},
    }
    return "\n".join(f"{name + ':':10} {content}" for name, content in fields.items())


def original_bytes(letter: DeadLetter) -> bytes:
    """The original value of the message; raises BadInput where the letter does not hold it."""
    if letter.value_base64 is None:
        raise BadInput(f"the letter has not kept the {letter.value_bytes} bytes of its message: give them with --image")
    try:
        return base64.b64decode(letter.value_base64, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("the letter's bytes are damaged: give them with --image") from None


def remade(letter: DeadLetter, frames_topic: str, mend: Mend) -> Remade:
    """The message to put back; raises BadInput where it would become a dead letter again.

    A letter that names another topic than ``frames_topic`` is refused: it is not trusted.
    """
    if letter.topic != frames_topic:
        raise BadInput(f"the letter is from topic {letter.topic!r}: only those from {frames_topic} can be put back")
    value = original_bytes(letter) if mend.image is None else mend.image
    headers = {name: content.encode() for name, content in letter.headers.items() if name != UNREADABLE}
    if mend.header is not None:
        headers[FRAME_HEADER_KEY] = mend.header.strip()
    try:
        header = read_header(headers.items())
        if mend.captured_at is not None:
            header = structs.replace(header, captured_at=mend.captured_at)
            headers[FRAME_HEADER_KEY] = to_json(header)
        if header.encoding != "none":
            decode_frame(header, value)
    except FrameError as error:
        hint = "--header" if error.reason in ("bad_header", "wrong_schema") else "--image"
        raise BadInput(f"it would become a dead letter again ({error.reason}: {error}): mend it with {hint}") from None
    return Remade(header.stream.encode(), value, headers)


FETCH_BYTES = 8 << 20


@dataclass(frozen=True)
class Letters:
    """The dead-letter topic of one installation, read without leaving a trace on the broker."""

    settings: BrokerSettings
    timeout_s: float
    topic: str
    frames_topic: str
    client: KafkaConsumer

    def at(self, place: Place) -> DeadLetter:
        """The letter at a place; raises BadInput where there is none."""
        where = TopicPartition(self.topic, place.partition)
        starts, ends = self._bounds()
        if where in starts and starts[where] <= place.offset < ends[where]:
            for _, letter in self._read({where: place.offset}, {where: place.offset + 1}):
                return letter
        raise BadInput(f"{self.topic} has no letter at {place}: `sluice dlq list` shows what there is")

    def newest(self, count: int) -> list[tuple[Place, DeadLetter]]:
        """The newest letters, at most this many; the oldest of them comes first."""
        starts, ends = self._bounds()
        starts = {where: max(start, ends[where] - count) for where, start in starts.items()}
        return sorted(self._read(starts, ends), key=lambda each: (each[1].at, each[0]))[-count:]

    def with_reason(self, reason: str) -> Iterator[tuple[Place, DeadLetter]]:
        """All that the topic has at present."""
        return (each for each in self._read(*self._bounds()) if each[1].reason == reason)

    def _bounds(self) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        numbers = self.client.partitions_for_topic(self.topic)
        if not numbers:
            raise Unavailable(f"there is no topic {self.topic}: `sluice topics create` makes it")
        partitions = [TopicPartition(self.topic, number) for number in numbers]
        return self.client.beginning_offsets(partitions), self.client.end_offsets(partitions)

    def _read(
        self, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]
    ) -> Iterator[tuple[Place, DeadLetter]]:
        """The letters between two offsets of each partition; a message that is no letter is logged and skipped."""
        for record in read_between(self.client, starts, ends):
            place = Place(record.partition, record.offset)
            if (letter := _letter(place, record.value)) is not None:
                yield place, letter


def _letter(place: Place, value: bytes | None) -> DeadLetter | None:
    try:
        return from_json(value or b"", DeadLetter)
    except Malformed as error:
        log.warning("%s: this message is no dead letter: %s", place, error)
        return None


@contextmanager
def opened_letters(settings: BrokerSettings, topics: TopicsConfig, timeout_s: float) -> Iterator[Letters]:
    """The letters of an installation, for the time of the block; raises ``Unavailable`` or ``BadInput``."""
    client = consumer(settings, timeout_s, max_partition_fetch_bytes=FETCH_BYTES)
    try:
        yield Letters(settings, timeout_s, topics.name("dlq"), topics.name("frames"), client)
    finally:
        with suppress(KafkaError):
            client.close(timeout_ms=1000)
