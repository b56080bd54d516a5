"""Puts the chunks of a job on ``jobs.v1``, says how far a job is, and ends one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from kafka import TopicPartition
from kafka.errors import KafkaError

from operators.capture.sources.open import recording_length_s
from operators.wire.jobs import MOST_CHUNKS, QUERY_CHARS, JobOrder, RecordingChunk
from operators.wire.schema import from_json, to_json
from pipelines.kafka.rights import needs
from pipelines.kafka.sync_clients import admin, consumer, demand, frames_producer, read_between
from pipelines.query.query_file import StreamSpec
from pipelines.run.jobs.chunks import cut, relative
from pipelines.run.jobs.job_report import JobStanding
from pipelines.settings import BrokerSettings
from serving.common.redaction import redact
from serving.errors import BadInput, Malformed, SourceError, Unavailable


class JobsAt(NamedTuple):
    settings: BrokerSettings
    topic: str
    group: str
    """The group of the workers."""
    patience_s: float


class Submitted(NamedTuple):
    """The chunks of a job that were put before workers, and why recordings were left out, by their addresses."""

    recordings: int
    chunks: int
    unreadable: dict[str, str]


@dataclass(frozen=True)
class NewJob:
    """A job, before it is cut."""

    name: str
    form: str
    query: str
    """The text of its file."""
    streams: Sequence[StreamSpec]
    archive: Path
    """The folder of recordings, as this machine sees it."""


def job_name(place: Path) -> tuple[str, str]:
    """The name of a job and the form of its results; raises BadInput where it names no folder below a worker's.

    >>> job_name(Path("night.parquet"))
    ('night', 'parquet')
    """
    form = place.suffix.removeprefix(".")
    if form not in ("jsonl", "parquet") or place.name != str(place):
        raise BadInput(f"--out {place}: at workers results have a name, as night.jsonl or night.parquet")
    _check_name(place.stem)
    return place.stem, form


def submit(at: JobsAt, job: NewJob) -> Submitted:
    """Put all chunks of a job on the topic; raises BadInput or Unavailable."""
    if len(job.query) > QUERY_CHARS:
        raise BadInput(f"the query's file has more than {QUERY_CHARS} characters")
    if len(job.streams) > MOST_CHUNKS:
        raise BadInput(f"more than {MOST_CHUNKS} recordings: make several jobs of them")
    lengths, unreadable = _lengths(job.streams)
    orders = [order for each in job.streams if each.id in lengths for order in _orders(job, each, lengths)]
    with _told(at), _sending(at) as (send, _):
        for order in orders:
            assert order.chunk is not None
            send(order, f"{order.job}/{order.chunk.stream}", None)
    return Submitted(len(lengths), len(orders), unreadable)


def cancel(at: JobsAt, name: str) -> None:
    """Have workers leave all chunks of a job that were submitted until now; BadInput where nobody has heard of it."""
    _check_name(name)
    standing(at, name)
    order = JobOrder(job=name, at=datetime.now(UTC))
    with _told(at), _sending(at) as (send, partitions):
        for partition in partitions:
            send(order, name, partition)


def standing(at: JobsAt, name: str) -> JobStanding:
    """How far a job is; raises BadInput where nobody has heard of it, or Unavailable."""
    with _told(at), closing(consumer(at.settings, at.patience_s, group=at.group)) as reader:
        places = [TopicPartition(at.topic, each) for each in sorted(reader.partitions_for_topic(at.topic) or ())]
        found = JobStanding(name)
        done = {place.partition: reader.committed(place) or 0 for place in places}
        for record in read_between(reader, reader.beginning_offsets(places), reader.end_offsets(places)):
            with suppress(Malformed):  # workers pass it over, and say so
                order = from_json(record.value or b"", JobOrder)
                if order.job == name:
                    found.see(order, record.partition, record.offset < done[record.partition])
    if not found.known:
        raise BadInput(f"topic {at.topic} knows no job {name}")
    return found


@contextmanager
def _told(at: JobsAt) -> Iterator[None]:
    """Have what the client raises said as one of our errors."""
    try:
        yield
    except KafkaError as error:
        why = redact(str(error) or type(error).__name__)
        raise Unavailable(f"{at.settings.url} does not do its part for topic {at.topic}: {why}: try again") from None


def _lengths(streams: Sequence[StreamSpec]) -> tuple[dict[str, float | None], dict[str, str]]:
    lengths: dict[str, float | None] = {}
    unreadable: dict[str, str] = {}
    for each in streams:
        try:
            str(each.uri).encode()
            lengths[each.id] = recording_length_s(each.uri)
        except UnicodeEncodeError:
            unreadable[each.id] = f"{each.uri}: its name is no text in UTF-8, which messages are in: rename it"
        except SourceError as error:
            unreadable[each.id] = str(error)
    return lengths, unreadable


def _orders(job: NewJob, stream: StreamSpec, lengths: dict[str, float | None]) -> Iterator[JobOrder]:
    chunks = cut(lengths[stream.id])
    source, now = relative(job.archive, str(stream.uri)), datetime.now(UTC)
    for number, (from_s, to_s) in enumerate(chunks, 1):
        chunk = RecordingChunk(
            query=job.query,
            source=source,
            stream=stream.id,
            form="parquet" if job.form == "parquet" else "jsonl",
            number=number,
            of=len(chunks),
            recordings=len(lengths),
            from_s=from_s,
            to_s=to_s,
        )
        order = JobOrder(job=job.name, at=now, chunk=chunk)
        try:
            yield from_json(to_json(order), JobOrder)
        except Malformed as error:
            raise BadInput(f"{stream.uri}: {error}") from None


def _check_name(name: str) -> None:
    try:
        from_json(to_json(JobOrder(job=name, at=datetime.now(UTC))), JobOrder)
    except Malformed:
        raise BadInput(
            f"a job's name has 1 to 100 letters, digits, dots, underscores and hyphens, not {name!r}"
        ) from None


@contextmanager
def _sending(at: JobsAt) -> Iterator[tuple[Callable[[JobOrder, str, int | None], None], list[int]]]:
    """Sends orders, each with a key and to a partition, and waits at the end until the broker has stored them all.

    Also yielded are the partitions.
    """
    with closing(admin(at.settings, at.patience_s)) as client:
        if demand(client, at.settings, needs(write=[at.topic])):
            raise BadInput(f"{at.settings.url} has no topic {at.topic}: make it with `sluice topics create`")
    producer, sent = frames_producer(at.settings, at.patience_s), list[Any]()

    def send(order: JobOrder, key: str, partition: int | None) -> None:
        sent.append(producer.send(at.topic, to_json(order), key.encode(), partition=partition))

    try:
        yield send, sorted(producer.partitions_for(at.topic) or ())
        for each in sent:
            each.get(at.patience_s)
    finally:
        producer.close(timeout=1)
