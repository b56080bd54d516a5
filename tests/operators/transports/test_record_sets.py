"""Whatever a set of records holds, what comes out can be read by every client, and the good batches are in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from operators.transports import fetches, polls, record_sets
from operators.transports.record_sets import Format, unreadable
from tests.real.raw_batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, batch, record

NO_END = 1 << 62
BAD_NAME = ((b"\xff\xfe", b"x"),)
FORMATS = fetches.FORMAT, polls.FORMAT


def read(data: bytes, library: Format = fetches.FORMAT) -> Iterator[tuple[int, bytes | None, str | None]]:
    """Offset and value of every record, and of a note its reason."""
    records = library.batches(data)
    while records.has_next():
        found = records.next_batch()
        assert found.validate_crc()
        for item in found:
            yield item.offset, item.value, unreadable(item.headers)


def good(data: bytes, library: Format = fetches.FORMAT) -> list[tuple[int, bytes | None]]:
    return [(offset, value) for offset, value, note in read(data, library) if note is None]


def readable(data: bytes, fetched: int, end: int) -> tuple[bytes, list[str]]:
    """Both libraries find the same."""
    first, second = (record_sets.readable(data, fetched, end, library) for library in FORMATS)
    assert [said.split(":")[0] for said in first[1]] == [said.split(":")[0] for said in second[1]]
    for library in FORMATS:
        assert list(read(first[0], library)) == list(read(first[0]))
    return first


def test_what_can_be_read_is_left_as_it_is() -> None:
    data = batch([record(0, b"a", headers=((b"frame", b"{}"),)), record(1, None)]) + batch([record(0, b"c")], base=2)
    assert readable(data, 0, NO_END) == (data, [])


@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_a_header_name_that_is_no_utf8_costs_the_batch(codec: int) -> None:
    records = [record(0, b"a"), record(1, b"b", headers=(*BAD_NAME, (b"frame", b"{}"))), record(2, b"c")]
    strange = batch(records, codec, base=40)
    data, [bad] = readable(strange + batch([record(0, b"d")], base=43), 40, NO_END)
    assert bad.startswith("offsets 40 to 42 cannot be read: ")
    assert good(data) == [(43, b"d")]
    assert [found for found in read(data) if found[2]] == [(42, strange, bad)], "one note, with what was sent"


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD, 7])
def test_an_unknown_compression_costs_the_batch(codec: int) -> None:
    strange = batch([record(0, b"b"), record(1, b"c")], codec, base=1)
    data, [bad] = readable(batch([record(0, b"a")]) + strange + batch([record(0, b"d")], base=3), 0, NO_END)
    assert bad.startswith("offsets 1 to 2 cannot be read: ")
    assert "let the sender use gzip or none" in bad
    assert good(data) == [(0, b"a"), (3, b"d")]


def test_a_wrong_checksum_costs_the_batch() -> None:
    broken = bytearray(batch([record(0, b"bbbb")], base=1))
    broken[-3] ^= 1
    data, bad = readable(batch([record(0, b"a")]) + bytes(broken) + batch([record(0, b"c")], base=2), 0, NO_END)
    assert bad == ["offsets 1 to 1 cannot be read: the checksum of the batch is wrong"]
    assert good(data) == [(0, b"a"), (2, b"c")]


def test_a_batch_that_grows_too_large_is_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_sets, "MAX_SET_BYTES", 100_000)
    bomb = batch([record(0, bytes(200_000))], GZIP)
    data, [bad] = readable(bomb + batch([record(0, b"c")], base=1), 0, NO_END)
    assert bad.endswith("the batch becomes larger than 100000 bytes")
    assert good(data) == [(1, b"c")]


def test_batches_that_grow_too_large_together_come_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_sets, "MAX_SET_BYTES", 100_000)
    large = [batch([record(0, bytes(60_000))], GZIP, base=place) for place in range(3)]
    data, bad = readable(b"".join(large), 0, NO_END)
    assert ([offset for offset, _ in good(data)], bad) == ([0], [])
    assert [offset for offset, _ in good(readable(b"".join(large[1:]), 1, NO_END)[0])] == [1]


def test_a_bad_batch_behind_the_bound_is_told_when_its_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_sets, "MAX_SET_BYTES", 100_000)
    large = [batch([record(0, bytes(60_000))], GZIP, base=place) for place in range(2)]
    assert readable(b"".join([*large, batch([record(0, b"c")], ZSTD, base=2)]), 0, NO_END) == (large[0], [])


def test_a_gzip_of_several_members_costs_the_batch() -> None:
    whole = bytearray(batch([record(0, b"a")], GZIP))
    whole += whole[61:]
    whole[8:12] = (len(whole) - 12).to_bytes(4, "big")
    whole[17:21] = crc32c(bytes(whole[21:])).to_bytes(4, "big")
    data, bad = readable(bytes(whole), 0, NO_END)
    assert (len(bad), good(data)) == (1, [])


@pytest.mark.parametrize("tail", [b"", b"\x01\xff\xff", b"\xff" * 40])
def test_a_record_of_a_wrong_length_costs_its_batch(tail: bytes) -> None:
    data, [bad] = readable(batch([record(0, b"a"), b"\xfe\xff\x03" + tail, record(2, b"c")]), 0, NO_END)
    assert bad.startswith("offsets 0 to 2 cannot be read: ")
    assert good(data) == []
    assert readable(data, 0, NO_END) == (data, [])


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 2**31 - 1])
def test_a_batch_that_miscounts_its_records_is_passed_over(count: int) -> None:
    data, _ = readable(batch([record(0, b"a"), record(1, b"b")], count=count), 0, NO_END)
    assert good(data) == []


def test_offsets_beyond_the_end_of_the_partition_are_not_believed() -> None:
    head = bytearray(batch([record(0, b"a")]))
    head[23:27] = (10**6).to_bytes(4, "big")
    head[17:21] = crc32c(bytes(head[21:])).to_bytes(4, "big")
    data, [bad] = readable(bytes(head), 0, 5)
    assert bad.startswith("offsets 0 to 4 cannot be read: ")
    assert [offset for offset, *_ in read(data)] == [4]


@pytest.mark.parametrize("length", [-1, 0, 48, 10**6])
def test_a_batch_of_a_wrong_length_is_passed_over(length: int) -> None:
    broken = bytearray(batch([record(0, b"a")], base=7))
    broken[8:12] = length.to_bytes(4, "big", signed=True)
    data, [bad] = readable(bytes(broken), 7, NO_END)
    assert bad.startswith("offsets 7 to 7 cannot be read: ")
    assert [offset for offset, *_ in read(data)] == [7]


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
def test_whatever_is_damaged_the_other_batches_can_be_read(
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
    found = good(data)
    assert found[0] == (9, b"first")
    assert found[-1] == (end - 1, b"last")
    offsets = [offset for offset, *_ in read(data)]
    assert offsets == sorted(set(offsets))
    assert len(bad) <= 1
    assert all(f"offsets 10 to {end - 2} cannot be read" in each for each in bad)
    assert readable(data, 9, end) == (data, [])


def test_records_that_came_after_the_broker_had_read_the_end_are_good() -> None:
    data = batch([record(0, b"a"), record(1, b"b")], base=7) + batch([record(0, b"c")], base=9)
    for end in (7, 8, 9):
        assert readable(data, 7, end) == (data, [])
