"""Whatever a set of records holds, what comes out can be read by every client, and the good records are in it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest
from aiokafka.record.memory_records import MemoryRecords
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords as OtherMemoryRecords

from operators.transports import record_sets
from operators.transports.inflate import Undecodable, inflate
from operators.transports.record_sets import UNREADABLE, readable
from tests.real.raw_batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, batch, record

NO_END = 1 << 62
BAD_NAME = ((b"\xff\xfe", b"x"),)


def read(data: bytes, kind: type = MemoryRecords) -> Iterator[tuple[int, bytes | None, dict[str, bytes | None]]]:
    records = kind(data)
    while records.has_next():
        found = records.next_batch()
        assert found.validate_crc()
        for item in found:
            yield item.offset, item.value, dict(item.headers)


def good(data: bytes, kind: type = MemoryRecords) -> list[tuple[int, bytes | None]]:
    return [(offset, value) for offset, value, headers in read(data, kind) if UNREADABLE not in headers]


def test_what_can_be_read_is_left_as_it_is() -> None:
    data = batch([record(0, b"a", headers=((b"frame", b"{}"),)), record(1, None)]) + batch([record(0, b"c")], base=2)
    assert readable(data, 0, NO_END) == (data, [])


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_a_header_name_that_is_no_utf8_costs_its_own_record_alone(codec: int) -> None:
    records = [record(0, b"a"), record(1, b"b", headers=(*BAD_NAME, (b"frame", b"{}"))), record(2, b"c")]
    data, bad = readable(batch(records, codec, base=40), 40, NO_END)
    assert [(item.offset, item.records) for item in bad] == [(41, 1)]
    assert good(data) == [(40, b"a"), (42, b"c")]
    [note] = [item for item in read(data) if UNREADABLE in item[2]]
    assert note[:2] == (41, b"b")
    assert note[2]["frame"] == b"{}", "what can be read of it is kept"


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD, 7])
def test_an_unknown_compression_costs_the_batch(codec: int) -> None:
    strange = batch([record(0, b"b"), record(1, b"c")], codec, base=1)
    data, [bad] = readable(batch([record(0, b"a")]) + strange + batch([record(0, b"d")], base=3), 0, NO_END)
    assert (bad.offset, bad.records) == (2, 2)
    assert "let the sender use gzip or none" in bad.reason
    assert good(data) == [(0, b"a"), (3, b"d")]


def test_a_wrong_checksum_costs_the_batch() -> None:
    broken = bytearray(batch([record(0, b"bbbb")], base=1))
    broken[-3] ^= 1
    data, [bad] = readable(batch([record(0, b"a")]) + bytes(broken) + batch([record(0, b"c")], base=2), 0, NO_END)
    assert (bad.offset, bad.reason) == (1, "its checksum is wrong")
    assert good(data) == [(0, b"a"), (2, b"c")]


def test_a_batch_that_grows_too_large_is_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_sets, "MAX_SET_BYTES", 100_000)
    bomb = batch([record(0, bytes(200_000))], GZIP)
    data, [bad] = readable(bomb + batch([record(0, b"c")], base=1), 0, NO_END)
    assert bad.reason == "it becomes larger than 100000 bytes"
    assert good(data) == [(1, b"c")]


def test_batches_that_grow_too_large_together_come_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_sets, "MAX_SET_BYTES", 100_000)
    large = [batch([record(0, bytes(60_000))], GZIP, base=place) for place in range(3)]
    data, bad = readable(b"".join(large), 0, NO_END)
    assert ([offset for offset, _ in good(data)], bad) == ([0], [])
    assert [offset for offset, _ in good(readable(b"".join(large[1:]), 1, NO_END)[0])] == [1]


@pytest.mark.parametrize("tail", [b"", b"\x01\xff\xff", b"\xff" * 40])
def test_a_record_of_a_wrong_length_costs_what_comes_behind_it_in_its_batch(tail: bytes) -> None:
    data, [bad] = readable(batch([record(0, b"a"), b"\xfe\xff\x03" + tail, record(2, b"c")]), 0, NO_END)
    assert bad.offset == 2
    assert good(data) == [(0, b"a")]
    after, _ = readable(data, 0, NO_END)
    assert after == data


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 2**31 - 1])
def test_a_batch_that_miscounts_its_records_ends_where_it_ends(count: int) -> None:
    data, _ = readable(batch([record(0, b"a"), record(1, b"b")], count=count), 0, NO_END)
    assert good(data) == [(0, b"a"), (1, b"b")][: max(count, 0)]


def test_offsets_beyond_the_end_of_the_partition_are_not_believed() -> None:
    head = bytearray(batch([record(0, b"a")]))
    head[23:27] = (10**6).to_bytes(4, "big")
    head[17:21] = crc32c(bytes(head[21:])).to_bytes(4, "big")
    data, [bad] = readable(bytes(head), 0, 5)
    assert bad.offset == 4
    assert max(offset for offset, _, _ in read(data)) == 4


@pytest.mark.parametrize("length", [-1, 0, 48, 10**6])
def test_a_batch_of_a_wrong_length_is_passed_over(length: int) -> None:
    broken = bytearray(batch([record(0, b"a")], base=7))
    broken[8:12] = length.to_bytes(4, "big", signed=True)
    data, [bad] = readable(bytes(broken), 7, NO_END)
    assert bad.offset == 7
    assert [offset for offset, _, _ in read(data)] == [7]


def test_a_batch_that_was_cut_off_comes_again() -> None:
    whole = batch([record(0, b"a")])
    data = whole + batch([record(0, b"b" * 100)], base=1)[:-20]
    assert readable(data, 0, NO_END) == (data, [])


@given(
    values=st.lists(st.binary(max_size=40), min_size=1, max_size=6),
    at=st.integers(0, 10_000),
    new=st.binary(min_size=1, max_size=8),
    codec=st.sampled_from([NONE, GZIP]),
    sealed=st.booleans(),
)
def test_whatever_is_damaged_the_rest_can_be_read(
    values: list[bytes], at: int, new: bytes, codec: int, sealed: bool
) -> None:
    """Damage anywhere, with a checksum that knows it (a strange sender) or does not (a broken disk)."""
    plain = b"".join(record(number, value, headers=((b"n", value),)) for number, value in enumerate(values))
    if sealed:
        place = at % len(plain)
        plain = plain[:place] + new + plain[place + len(new) :]
    middle = batch([plain, *[b""] * (len(values) - 1)], codec, base=10)
    if not sealed:
        place = 12 + at % (len(middle) - 12)
        middle = (middle[:place] + new + middle[place + len(new) :])[: len(middle)]
    end = 10 + len(values) + 1
    before, behind = batch([record(0, b"first")], base=9), batch([record(0, b"last")], base=end - 1)
    data, bad = readable(before + middle + behind, 9, end)
    for kind in (MemoryRecords, OtherMemoryRecords):
        found = good(data, kind)
        assert found[0] == (9, b"first")
        assert found[-1] == (end - 1, b"last")
    offsets = [offset for offset, _, _ in read(data)]
    assert offsets == sorted(set(offsets))
    assert all(10 <= item.offset < end for item in bad)
    assert readable(data, 9, end) == (data, [])


def test_records_that_came_after_the_broker_had_read_the_end_are_good() -> None:
    data = batch([record(0, b"a"), record(1, b"b")], base=7) + batch([record(0, b"c")], base=9)
    for end in (7, 8, 9):
        assert readable(data, 7, end) == (data, [])


def test_a_gzip_of_very_many_members_is_given_up_soon() -> None:
    assert inflate(GZIP, gzip.compress(b"a") + gzip.compress(b"b"), 100) == b"ab"
    with pytest.raises(Undecodable, match="more than 64 members"):
        inflate(GZIP, gzip.compress(b"") * 65, 100)
