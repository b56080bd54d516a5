"""What is written is what is read; whatever else comes is Malformed and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.adaptation.target_state import Artefact
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Sample
from operators.frames.codec import MAX_HEADER_BYTES
from operators.wire.adaptation import MOST_DIMS, MOST_SAMPLES, SAMPLES_HEADER_KEY, UPDATE_HEADER_KEY
from pipelines.kafka.topics import TopicsConfig
from pipelines.worker.adapt.messages import (
    Letter,
    SampleBatch,
    read_samples,
    read_update,
    read_wish,
    samples_letter,
    update_letter,
    wish_letter,
)
from serving.errors import Malformed
from tests.cache_adapt.learned.taught import SPEC

NOW_S = 1_772_366_400.0
SUBJECT = Subject("type", "net", "ab" * 32, "cd" * 32)
OWN = replace(SUBJECT, stream="gate")
TARGET = Target(SUBJECT, SPEC)
ARTEFACT = Artefact(TARGET, int(NOW_S), b"weights", 80)


def batch(count: int, dims: int = 4, subject: Subject = SUBJECT) -> SampleBatch:
    rows = np.random.default_rng(count).normal(size=(count, dims)).astype(np.float16)
    return SampleBatch("street", subject, "gate", [Sample(NOW_S - i, i % 7, row) for i, row in enumerate(rows)])


def changed(letter: Letter, name: str, **fields: object) -> tuple[tuple[str, bytes], ...]:
    return ((name, json.dumps(json.loads(letter.headers[0][1]) | fields).encode()),)


@given(st.integers(1, MOST_SAMPLES), st.integers(1, 40), st.sampled_from([SUBJECT, OWN]))
def test_samples_arrive_as_they_were_sent(count: int, dims: int, subject: Subject) -> None:
    sent = batch(count, dims, subject)
    letter = samples_letter(sent, NOW_S)
    got = read_samples(letter.headers, letter.value)
    assert (got.query, got.subject, got.stream) == (sent.query, sent.subject, sent.stream)
    assert [each.label for each in got.samples] == [each.label for each in sent.samples]
    assert [each.at_s for each in got.samples] == pytest.approx([each.at_s for each in sent.samples])
    for one, other in zip(got.samples, sent.samples, strict=True):
        assert np.array_equal(one.features, other.features)


def test_the_largest_message_fits_into_the_topic() -> None:
    letter = samples_letter(batch(MOST_SAMPLES, MOST_DIMS), NOW_S)
    assert len(letter.headers[0][1]) <= MAX_HEADER_BYTES
    assert len(letter.value) + len(letter.headers[0][1]) < TopicsConfig().samples.max_message_bytes


def test_activations_may_come_in_full_precision() -> None:
    letter = samples_letter(batch(3), NOW_S)
    headers = changed(letter, SAMPLES_HEADER_KEY, encoding="float32")
    values = np.full((3, 4), 0.5, "<f4")
    assert read_samples(headers, values.tobytes()).samples[0].features.tolist() == [0.5] * 4


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({}, b""),
        ({}, bytes(23)),
        ({}, b"\xff" * 24),  # not a number
        ({"encoding": "float32"}, np.full(12, 1e30, "<f4").tobytes()),
        ({"encoding": "float32"}, bytes(24)),
        ({"dims": 0}, b""),
        ({"dims": 10**9}, bytes(24)),
        ({"labels": []}, b""),
        ({"labels": [0, 1]}, bytes(24)),
        ({"labels": [0, 1, -1]}, bytes(24)),
        ({"labels": [0] * (MOST_SAMPLES + 1), "ages_s": [0.0] * (MOST_SAMPLES + 1)}, bytes(8 * (MOST_SAMPLES + 1))),
        ({"ages_s": [0.0, -1.0, 0.0]}, bytes(24)),
        ({"network_sha256": "ab"}, bytes(24)),
        ({"stream": "a\nb"}, bytes(24)),
        ({"one_stream": "gate"}, bytes(24)),
        ({"one_stream": 1}, bytes(24)),
        ({"at": "1605-01-01T00:00:00Z"}, bytes(24)),
        ({"schema": "sluice.samples/2"}, bytes(24)),
    ],
)
def test_samples_that_are_not_as_announced_are_malformed(fields: dict[str, object], value: bytes) -> None:
    letter = samples_letter(batch(3), NOW_S)
    with pytest.raises(Malformed):
        read_samples(changed(letter, SAMPLES_HEADER_KEY, **fields), value)


def test_a_wish_arrives_as_it_was_sent_and_wants_the_same_artefact() -> None:
    for target in (TARGET, replace(TARGET, subject=OWN)):
        got = read_wish(wish_letter("street", target, "gate", NOW_S).value)
        assert (got.query, got.target) == ("street", target)
        assert got.target.key == target.key


def test_messages_that_do_not_say_whose_they_are_alone_are_of_all_streams_together() -> None:
    letter, wish = samples_letter(batch(1, subject=OWN), NOW_S), wish_letter("street", TARGET, "gate", NOW_S)
    header, said = json.loads(letter.headers[0][1]), json.loads(wish.value)
    assert (header.pop("one_stream"), said.pop("one_stream")) == (True, False)
    assert read_samples(((SAMPLES_HEADER_KEY, json.dumps(header).encode()),), letter.value).subject == SUBJECT
    assert read_wish(json.dumps(said, separators=(",", ":")).encode()).target == TARGET


@pytest.mark.parametrize(
    "fields", [{"answered": -1}, {"kind": "heads"}, {"spec": {}}, {"mix": [{}]}, {"one_stream": 2}]
)
def test_a_wish_that_cannot_be_true_is_malformed(fields: dict[str, object]) -> None:
    sound = wish_letter("street", TARGET, "gate", NOW_S)
    with pytest.raises(Malformed):
        read_wish(json.dumps(json.loads(sound.value) | fields).encode())


def test_an_artefact_arrives_as_it_was_made() -> None:
    letter = update_letter("street", ARTEFACT, NOW_S)
    assert read_update(letter.key, letter.headers, letter.value, 0, NOW_S) == (ARTEFACT.version, ARTEFACT.data)


@pytest.mark.parametrize(
    ("fields", "known", "reason"),
    [
        ({}, ARTEFACT.version, "stale"),
        ({"version": int(NOW_S) + 7200}, 0, "from the future"),
        ({"sha256": "0" * 64}, 0, "damaged"),
        ({"target": "type/head/other"}, 0, "another target"),
        ({"query": "other"}, 0, "another target"),
        ({"version": -1}, 0, "version"),
        ({"version": 2**60}, 0, "version"),
    ],
)
def test_an_artefact_that_is_not_to_be_taken_is_malformed(fields: dict[str, object], known: int, reason: str) -> None:
    letter = update_letter("street", ARTEFACT, NOW_S)
    with pytest.raises(Malformed, match=reason):
        read_update(letter.key, changed(letter, UPDATE_HEADER_KEY, **fields), letter.value, known, NOW_S)


@given(
    st.lists(st.tuples(st.sampled_from(["samples", "update", "x"]), st.none() | st.binary(max_size=60))), st.binary()
)
def test_any_bytes_are_malformed_and_nothing_else(headers: list[tuple[str, bytes | None]], value: bytes) -> None:
    for read in (
        lambda: read_samples(headers, value),
        lambda: read_wish(value),
        lambda: read_update(value, headers, value, 0, NOW_S),
    ):
        with pytest.raises(Malformed):
            read()
