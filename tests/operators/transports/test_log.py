"""The pure logs: dense offsets, the bound, what is kept, what is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.transports.log import BoundedLog, Record

KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
VALUES = st.none() | st.binary(max_size=40)
MESSAGES = st.lists(st.tuples(KEYS, VALUES), max_size=60)


def filled(log: BoundedLog, messages: list[tuple[bytes | None, bytes | None]]) -> list[Record]:
    """Append all and return the records as appended."""
    records = [Record(offset, 0, key, value) for offset, (key, value) in enumerate(messages)]
    for record in records:
        log.append(record)
    return records


@given(MESSAGES, st.integers(0, 40))
def test_what_is_trimmed_is_gone_and_the_rest_keeps_its_offsets(
    messages: list[tuple[bytes | None, bytes | None]], offset: int
) -> None:
    log = BoundedLog(1 << 20)
    records = filled(log, messages)
    log.trim(offset)
    log.trim(0)
    assert log.read(0, 1000) == records[offset:]
    assert (log.start, log.end) == (min(offset, len(records)), len(records))
    assert log.size_bytes == sum(record.size_bytes for record in records[offset:])


@given(MESSAGES, st.integers(1, 200))
def test_a_bounded_log_keeps_the_newest_within_its_bound(
    messages: list[tuple[bytes | None, bytes | None]], max_bytes: int
) -> None:
    log = BoundedLog(max_bytes)
    records = filled(log, messages)

    kept = log.read(0, 1000)
    assert kept == records[len(records) - len(kept) :], "a run of the newest, offsets without gap"
    assert (log.start, log.end) == (len(records) - len(kept), len(records))
    assert log.size_bytes == sum(record.size_bytes for record in kept)
    assert log.size_bytes <= max_bytes or len(kept) == 1
    if log.start:
        assert log.size_bytes + records[log.start - 1].size_bytes > max_bytes, "nothing was dropped without need"


@given(MESSAGES, st.integers(0, 70), st.integers(1, 70))
def test_reading_gives_the_oldest_from_an_offset_on(
    messages: list[tuple[bytes | None, bytes | None]], offset: int, limit: int
) -> None:
    log = BoundedLog(60)
    filled(log, messages)

    everything = log.read(0, 1000)
    assert log.read(offset, limit) == [record for record in everything if record.offset >= offset][:limit]


@given(MESSAGES, st.integers(1, 5))
def test_reading_in_pieces_gives_everything_once(messages: list[tuple[bytes | None, bytes | None]], limit: int) -> None:
    log = BoundedLog(60)
    filled(log, messages)

    found: list[Record] = []
    while piece := log.read(found[-1].offset + 1 if found else 0, limit):
        found += piece
    assert found == log.read(0, 1000)


def test_a_record_out_of_order_is_refused() -> None:
    with pytest.raises(ValueError, match="has offset 7, the log continues at 0"):
        BoundedLog(100).append(Record(7, 0, b"key", b""))


def test_size_counts_key_value_and_headers() -> None:
    assert Record(0, 0, b"key", b"value", (("name", b"12"),)).size_bytes == 3 + 5 + 4 + 2
