"""Does for a consumer of kafka-python what ``fetches`` does for one of aiokafka."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from operators.transports.record_sets import Format, readable
from operators.wire.mishaps import Mishaps

log = logging.getLogger(__name__)

FORMAT = Format(MemoryRecords, DefaultRecordBatchBuilder)
NO_END = 1 << 62
"""kafka-python does not say here where the partition ends."""


def mend_polls(client: Any) -> None:
    """Mend what a consumer is answered from now on; to be called before its first poll."""
    fetcher = client._fetcher
    fetcher.PartitionRecords = partial(_partition_records, fetcher.PartitionRecords, Mishaps(log))


def _partition_records(kind: Any, mishaps: Mishaps, fetched: int, place: Any, records: Any, **options: Any) -> Any:
    """The library's records of a set, of one that it can read."""
    data, problems = readable(bytes(records._buffer), fetched, NO_END, FORMAT)
    for problem in problems:
        mishaps.note("a batch is skipped", f"topic {place.topic} partition {place.partition}: {problem}")
    return kind(fetched, place, MemoryRecords(data), **options)
