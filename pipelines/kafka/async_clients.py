"""The broker as the event loop's clients see it: whether it lets us in, and waiting until it has all that is needed."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import create_conn
from aiokafka.errors import CommitFailedError, GroupAuthorizationFailedError, KafkaConnectionError, KafkaError
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.structs import OffsetAndMetadata

from operators.transports.fetches import FetchLog, watch_fetches
from pipelines.kafka.options import METADATA_AGE_MS, client_options
from pipelines.kafka.rights import HIDDEN_TOPIC, TopicRights, lacking_rights, refused
from pipelines.kafka.verdict import Verdict, verdict
from pipelines.settings import BrokerSettings
from serving.common.retrying import BROKER_BACKOFF, Backoff, Persistence, retrying
from serving.errors import BadInput, SluiceError, Unavailable

log = logging.getLogger(__name__)

BACKOFF = Backoff(first_s=1.0, max_s=5.0)
ATTEMPT_S = 3.0
CONNECT_TIMEOUT_S = 10.0
STOP_S = 12.0
"""Leaving a group waits for what is done before others have its partitions."""


async def wait_for_broker(
    settings: BrokerSettings, wanted: TopicRights, give_up_s: float, then: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Return once the broker answers and has the topics, telling the user every few seconds that it does not.

    ``then`` is done afterwards; where that raises ``KafkaError`` all is tried again. Raises ``Unavailable`` after
    ``give_up_s``, and ``BadInput`` at once where the broker refuses us.
    """

    async def once() -> None:
        try:
            if absent := await _absent(settings, wanted):
                reason = f"{settings.url} has no topic {', '.join(absent)}: make them with `sluice topics create`"
                raise Unavailable(reason)
            if then is not None:
                await then()
        except (KafkaError, OSError) as error:
            found = await knock(settings) or Verdict(type(error).__name__, final=False)
            if found.final:
                raise BadInput(found.text) from None
            raise Unavailable(f"no broker answers at {settings.url} ({found.text})") from None

    def log_retry(error: Unavailable, remaining_s: float) -> None:
        log.warning("%s; trying again for %.0f s", error, remaining_s)

    quiet()
    try:
        await retrying(once, Unavailable, Persistence(BACKOFF, within_s=give_up_s), log_retry)
    except Unavailable as error:
        raise Unavailable(f"{error}: gave up after {give_up_s:.0f} s") from None


async def knock(settings: BrokerSettings, timeout_s: float = ATTEMPT_S) -> Verdict | None:
    """Why no server lets us in; None where one does. A refusal outweighs the absence of other servers.

    Clients try one server after the other and hide what each says behind a time-out. Takes ``timeout_s`` per server at
    the worst.
    """
    quiet()
    options = client_options(settings)
    del options["bootstrap_servers"]
    found = []
    for server in settings.servers:
        host, _, port = server.rpartition(":")
        try:
            async with asyncio.timeout(timeout_s):
                connection = await create_conn(host.strip("[]"), int(port), client_id="sluice", **options)
                try:
                    await connection.send(MetadataRequest([]))  # which a server that wants a user does not answer
                finally:
                    connection.close()
        except Exception as error:
            found.append(verdict(settings, server, error))
        else:
            return None
    return next((each for each in found if each.final), found[0])


def quiet() -> None:
    """Silence the library's own log, which repeats every failed attempt, unless debug output is wanted."""
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)


def place_of(record: ConsumerRecord) -> str:
    """Where a message lies, in words."""
    return f"topic {record.topic} partition {record.partition} offset {record.offset}"


async def for_ever(work: Callable[[], Awaitable[None]], what: str) -> None:
    """Do the work of a client, and again whenever it breaks off, whatever becomes of the broker; ``what``: in words."""
    rng, failures = random.Random(), 0
    while True:
        began_s = time.monotonic()
        try:
            await work()
        except Exception as error:  # whatever the library raises, the next attempt may do better
            failures = failures + 1 if time.monotonic() - began_s < BROKER_BACKOFF.max_s else 0
            if failures <= 1:
                said = (
                    error
                    if isinstance(error, KafkaError | OSError | SluiceError)
                    else f"{type(error).__name__}: {error}"
                )
                log.warning("%s breaks off (%s): trying again", what, said)
        await asyncio.sleep(BROKER_BACKOFF.delay_s(failures, rng))


@asynccontextmanager
async def reading(
    settings: BrokerSettings, *topics: str, fetches: FetchLog | None = None, **options: Any
) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer that is connected while the block runs, commits nothing by itself, and is given what can be read."""
    options |= {"enable_auto_commit": False, "check_crcs": False, "metadata_max_age_ms": METADATA_AGE_MS}
    consumer = AIOKafkaConsumer(*topics, **client_options(settings), **options)
    watch_fetches(consumer, fetches or FetchLog())  # which checks them
    try:
        with _called(settings):
            await consumer.start()
        yield consumer
    finally:
        with suppress(Exception):
            async with asyncio.timeout(STOP_S):  # a broker that is away keeps no process from ending
                await consumer.stop()


async def started(settings: BrokerSettings, most_bytes: int = 2 << 20) -> AIOKafkaProducer:
    """A producer that is connected, of messages up to a size; raises KafkaError or OSError."""
    producer = AIOKafkaProducer(**client_options(settings), max_request_size=most_bytes)
    try:
        with _called(settings):
            await producer.start()
    except BaseException:
        await producer.stop()
        raise
    return producer


@contextmanager
def _called(settings: BrokerSettings) -> Iterator[None]:
    """Call a broker that is not there, or lets nobody in, by its address, which the library says as it keeps it."""
    try:
        yield
    except KafkaConnectionError:
        raise KafkaConnectionError(f"no connection to a broker at {settings.url}") from None


async def topics_at(settings: BrokerSettings) -> dict[str, int]:
    """All topics that may be seen, with their number of partitions; raises ``KafkaError``, OSError or TimeoutError."""
    client = AIOKafkaAdminClient(**client_options(settings))
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            with _called(settings):
                await client.start()
            return {each["topic"]: len(each["partitions"]) for each in await client.describe_topics()}
    finally:
        await client.close()


async def begin_at_the_ends(settings: BrokerSettings, group: str, topic: str) -> None:
    """Commit the ends of the topic's partitions, unless the group has committed anything there, or has members.

    Afterwards every partition has a place to go on from, also those that are silent: a worker that starts again, or
    takes over, misses nothing. Raises ``KafkaError``.
    """
    consumer = AIOKafkaConsumer(**client_options(settings), group_id=group, enable_auto_commit=False)
    try:
        await consumer.start()
        places = [TopicPartition(topic, number) for number in range((await topics_at(settings)).get(topic, 0))]
        consumer.assign(places)
        if any([await consumer.committed(place) is not None for place in places]):
            return
        ends = await consumer.end_offsets(places)
        await consumer.commit({place: OffsetAndMetadata(end, "") for place, end in ends.items()})
    except CommitFailedError:
        return  # others have begun meanwhile
    finally:
        await consumer.stop()
    log.info("the first start of the group %s: beginning with the next frames of %s", group, topic)


async def _absent(settings: BrokerSettings, wanted: TopicRights) -> list[str]:
    """The topics that are missing; raises ``BadInput`` where a right is, ``KafkaError`` where the broker is away."""
    client = AIOKafkaAdminClient(**client_options(settings), request_timeout_ms=round(ATTEMPT_S * 1000))
    try:
        await client.start()
        described = [topic async for topic in _described(client, wanted.topics)]
        lacking = lacking_rights(described, wanted.topics)
        if wanted.group is not None and not await _may_join(client, wanted.group):
            lacking.append(f"read group {wanted.group}")
    finally:
        await client.close()
    if lacking:
        raise refused(settings, lacking)
    return sorted(topic["name"] for topic in described if topic["error_code"] != 0)


async def _described(
    client: AIOKafkaAdminClient, wanted: Mapping[str, frozenset[str]]
) -> AsyncIterator[Mapping[str, Any]]:
    """Topics by kafka-python's ``describe_topics``, as far as they are looked at."""
    answer = await client._send_request(MetadataRequest(list(wanted), allow_auto_topic_creation=False))
    for topic in answer.to_object()["topics"]:
        name, code = topic["topic"], topic["error_code"]
        found: dict[str, Any] = {"name": name, "error_code": code}
        if code == 0:  # else it is absent, hidden, or has no leader yet, which says nothing of rights
            allowed = [right for right in wanted[name] if await _may(client, right, name)]
            found["authorized_operations"] = ["DESCRIBE", *allowed]
        yield found


async def _may(client: AIOKafkaAdminClient, right: str, topic: str) -> bool:
    """Ask for nothing: the broker looks at the right first."""
    if right == "READ":
        answer = await client._send_request(FetchRequest(0, 0, 1, 0, [(topic, [(0, 0, 1)])]))
    else:
        answer = await client._send_request(ProduceRequest(None, 1, 1000, [(topic, [(0, b"")])]))
    [(_, [(_, code, *_)])] = answer.topics
    return bool(code != HIDDEN_TOPIC)


async def _may_join(client: AIOKafkaAdminClient, group: str) -> bool:
    """False where the broker says no; a coordinator that is not there yet says nothing."""
    with suppress(KafkaError):
        try:
            await client.find_coordinator(group)
        except GroupAuthorizationFailedError:
            return False
    return True
