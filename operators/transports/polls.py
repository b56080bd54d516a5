"""Does for a consumer of kafka-python what ``fetches`` does for one of aiokafka."""

from __future__ import annotations

from functools import partial
from typing import Any

from operators.transports.record_sets import readable
from operators.transports.unreadable_log import OnUnreadable


def mend_polls(client: Any, on_unreadable: OnUnreadable) -> None:
    """Mend what a consumer is answered from now on; to be called before its first poll."""
    client._fetcher.PartitionRecords = partial(_partition_records, client._fetcher.PartitionRecords, on_unreadable)


def _partition_records(
    kind: Any, on_unreadable: OnUnreadable, fetched: int, place: Any, records: Any, **options: Any
) -> Any:
    """What the library would make of a set of records, of one that it can read."""
    data, bad = readable(bytes(records._buffer), fetched, NO_END, partial(_offsets, type(records)))
    for what in bad:
        on_unreadable(place.topic, place.partition, what)
    return kind(fetched, place, type(records)(data), **options)


NO_END = 1 << 62
"""kafka-python does not say here where the partition ends."""


def _offsets(kind: Any, batch: bytes) -> Any:
    """As kafka-python reads a batch."""
    parsed = kind(batch).next_batch()
    if not parsed.validate_crc():
        raise ValueError("its checksum is wrong")
    return [record.offset for record in parsed]
