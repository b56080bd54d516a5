"""Record batches made byte by byte, as no client library would send them, and put on a real broker's topic."""

from __future__ import annotations

import asyncio
import gzip
import struct
import time
from collections.abc import Iterable

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest
from crc32c import crc32c

Headers = tuple[tuple[bytes, bytes | None], ...]
NOT_LEADER = 6
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)


def record(delta: int, value: bytes | None, key: bytes | None = b"camera", headers: Headers = ()) -> bytes:
    """A record whose headers may have names of any bytes."""
    body = b"\0" + varint(0) + varint(delta) + _sized(key) + _sized(value) + varint(len(headers))
    body += b"".join(_sized(part) for header in headers for part in header)
    return varint(len(body)) + body


def _sized(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def varint(number: int) -> bytes:
    """Zigzag."""
    value, out = (number << 1) ^ (number >> 63), bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def batch(records: Iterable[bytes], codec: int = NONE, count: int | None = None, base: int = 0) -> bytes:
    """A batch of the given records; ``count`` is what it claims to hold."""
    parts = list(records)
    number = len(parts) if count is None else count
    payload = compress(codec, b"".join(parts))
    now_ms = round(time.time() * 1000)  # what is old is deleted by the broker
    head = struct.pack(">hiqqqhii", codec, max(len(parts), 1) - 1, now_ms, now_ms, -1, -1, -1, number)
    body = head + payload
    return struct.pack(">qiibI", base, len(body) + 9, -1, 2, crc32c(body)) + body


def compress(codec: int, data: bytes) -> bytes:
    """As a sender does it; what no library here can do is made by hand of blocks that are not compressed at all."""
    match codec:
        case 1:
            return gzip.compress(data)
        case 2:
            return _snappy(data)
        case 4:
            return _zstd(data)
        case _:
            return data


def _snappy(data: bytes) -> bytes:
    length, out = len(data), bytearray()
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*out, length]) + bytes([61 << 2]) + struct.pack("<H", len(data) - 1) + data


def _zstd(data: bytes) -> bytes:
    header = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    return header + struct.pack("<I", 1 | len(data) << 3)[:3] + data


async def produce(bootstrap: str, topic: str, partition: int, data: bytes) -> int:
    """Put a batch on a topic as it is: the broker's error code, 0 where it took it."""
    client = AIOKafkaClient(bootstrap_servers=bootstrap)
    try:
        await client.bootstrap()
        client.add_topic(topic)
        while True:
            await client.force_metadata_update()
            leader = client.cluster.leader_for_partition(TopicPartition(topic, partition))
            error = NOT_LEADER if leader is None else await _put(client, leader, topic, partition, data)
            if error != NOT_LEADER:  # which a new topic has not yet
                return error
            await asyncio.sleep(0.1)
    finally:
        await client.close()


async def _put(client: AIOKafkaClient, leader: int, topic: str, partition: int, data: bytes) -> int:
    answer = await client.send(leader, ProduceRequest(None, -1, 10_000, [(topic, [(partition, data)])]))
    [(_, [(_, error, *_)])] = answer.topics
    return int(error)
