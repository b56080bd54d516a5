"""Samples, wishes and updates as messages, and back; whatever comes in is checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from cache_adapt.adaptation.target_state import Artefact
from cache_adapt.adaptation.targets import EXITS, Subject, Target
from cache_adapt.adaptation.updates import Update
from cache_adapt.adaptation.versions import digest, why_refused
from cache_adapt.adaptation.window import Sample
from cache_adapt.learned.specs import ExitsSpec
from operators.frames.codec import MAX_HEADER_BYTES
from operators.wire.adaptation import (
    LONGEST_AGE_S,
    SAMPLES_HEADER_KEY,
    UPDATE_HEADER_KEY,
    SamplesHeader,
    UpdateHeader,
    Wish,
)
from operators.wire.bounds import limited
from operators.wire.schema import from_json, to_json
from serving.common.untrusted import decode
from serving.errors import Malformed

Headers = Iterable[tuple[str, bytes | None]]
ENCODINGS = {"float16": "<f2", "float32": "<f4"}
LATEST_S = 7e9
"""The year 2191; a clock beyond it is wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Letter:
    """A message to send."""

    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SampleBatch:
    """Samples of one stream and network."""

    query: str
    subject: Subject
    stream: str
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    query: str
    target: Target


def samples_letter(batch: SampleBatch, now_s: float) -> Letter:
    """Write samples, each with D activations; at most ``MOST_SAMPLES``."""
    subject = batch.subject
    header = SamplesHeader(
        query=batch.query,
        stream=batch.stream,
        node=subject.node,
        network=subject.network,
        network_sha256=subject.network_identity,
        labels_sha256=subject.labels,
        at=_moment(now_s),
        dims=len(batch.samples[0].features),
        encoding="float16",
        labels=[each.label for each in batch.samples],
        ages_s=[round(limited(now_s - each.at_s, 0.0, LONGEST_AGE_S), 3) for each in batch.samples],
        one_stream=subject.stream != "",
    )
    values = np.stack([each.features for each in batch.samples]).astype("<f2")
    return Letter(batch.stream.encode(), values.tobytes(), ((SAMPLES_HEADER_KEY, to_json(header)),))


def read_samples(headers: Headers, value: bytes | None) -> SampleBatch:
    """Read samples; raises Malformed where a number is none, or there are not as many as announced."""
    header, data = from_json(_the_only(headers, SAMPLES_HEADER_KEY), SamplesHeader), value or b""
    kind = np.dtype(ENCODINGS[header.encoding])
    size_bytes = len(header.labels) * header.dims * kind.itemsize
    if len(data) != size_bytes:
        raise Malformed(f"{len(data)} bytes of activations where {size_bytes} were announced")
    values = np.frombuffer(data, kind).reshape(len(header.labels), header.dims)
    most = np.finfo(np.float16).max
    if not np.isfinite(values).all() or np.abs(values).max() > most:
        raise Malformed(f"activations must be numbers between -{most} and {most}")
    rows, at_s = values.astype(np.float16), header.at.timestamp()
    samples = [
        Sample(at_s - age_s, label, row.copy())  # a view would keep the whole message
        for age_s, label, row in zip(header.ages_s, header.labels, rows, strict=True)
    ]
    return SampleBatch(header.query, _subject(header), header.stream, samples)


def wish_letter(query: str, target: Target, stream: str, now_s: float) -> Letter:
    """Write a wish."""
    subject = target.subject
    wish = Wish(
        query=query,
        stream=stream,
        node=subject.node,
        network=subject.network,
        network_sha256=subject.network_identity,
        labels_sha256=subject.labels,
        at=_moment(now_s),
        kind=EXITS,
        spec=msgspec.Raw(msgspec.json.encode(target.spec)),
        one_stream=subject.stream != "",
    )
    return Letter(stream.encode(), to_json(wish))


def read_wish(value: bytes | None) -> Wanted:
    """Read a wish; raises Malformed where it is not for exits at cuts of a network."""
    wish = from_json(value or b"", Wish)
    if wish.kind != EXITS:
        raise Malformed(f"{EXITS} are trained here, no {wish.kind!r}")
    return Wanted(wish.query, Target(_subject(wish), decode(bytes(wish.spec), ExitsSpec)))


def update_letter(query: str, made: Artefact, now_s: float) -> Letter:
    """Write an artefact."""
    header = UpdateHeader(
        query=query,
        target=made.target.key,
        version=made.version,
        sha256=digest(made.data),
        at=_moment(now_s),
        samples=made.samples,
        detail=f"exits at {len(made.target.spec.cuts)} cuts",
    )
    return Letter(update_key(query, made.target.key), made.data, ((UPDATE_HEADER_KEY, to_json(header)),))


def update_key(query: str, target: str) -> bytes:
    """The key of a target's messages, which names the query too."""
    return f"{query}/{target}".encode()


def read_update(key: bytes, headers: Headers, value: bytes | None, known: int, now_s: float) -> Update:
    """Read an artefact in place of version ``known``; raises Malformed where it is not to be taken."""
    header, data = from_json(_the_only(headers, UPDATE_HEADER_KEY), UpdateHeader), value or b""
    if update_key(header.query, header.target) != key:
        raise Malformed("the key of the message is that of another target")
    if refusal := why_refused(data, header.sha256, header.version, known, now_s):
        raise Malformed(f"version {header.version} is {refusal}")
    return Update(header.version, data)


def _subject(told: SamplesHeader | Wish) -> Subject:
    stream = told.stream if told.one_stream else ""
    return Subject(told.node, told.network, told.network_sha256, told.labels_sha256, stream)


def _the_only(headers: Headers, name: str) -> bytes:
    found = [value or b"" for each, value in headers if each == name]
    if len(found) != 1 or len(found[0]) > MAX_HEADER_BYTES:
        raise Malformed(f"the message has not one header {name!r} of at most {MAX_HEADER_BYTES} bytes")
    return found[0]


def _moment(now_s: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=limited(now_s, 0.0, LATEST_S))
