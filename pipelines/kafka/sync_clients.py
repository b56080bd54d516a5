"""Clients of kafka-python, connected: a broker that is down is waited for, with a message and an end."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import GroupAuthorizationFailedError, KafkaError
from kafka.net.compat import KafkaNetClient

from pipelines.kafka.options import client_options
from pipelines.kafka.rights import TopicRights, lacking_rights, refused
from pipelines.kafka.verdict import Verdict, verdict
from pipelines.settings import BrokerSettings
from serving.common.retrying import Backoff, Persistence, retry
from serving.errors import BadInput, Unavailable

log = logging.getLogger(__name__)

Client = TypeVar("Client")

ATTEMPT_S, LEAST_S = 3.0, 0.1
BACKOFF = Backoff(first_s=0.2, max_s=2.0)
DAY_MS = 86_400_000
SILENCE_MS = 10_000
"""Without a record for so long the broker counts as one that does not answer."""


class _NoAnswer(Exception):
    """The broker does not answer, or not yet."""


class _Producer(KafkaProducer):  # type: ignore[misc]
    """Closed by us. The library's own attempt at the end of the process throws if the broker is still away."""

    def __del__(self) -> None:
        """Nothing."""


def connect(
    kind: Callable[..., Client],
    settings: BrokerSettings,
    timeout_s: float,
    stop: threading.Event | None = None,
    **arguments: Any,
) -> Client:
    """Make a client, trying for ``timeout_s``.

    Raises ``BadInput`` at once where the broker refuses us, ``Unavailable`` where it does not answer in time, and
    ``SystemExit`` once ``stop`` is set.
    """
    stop = stop or threading.Event()
    deadline = time.monotonic() + timeout_s

    def once() -> Client:
        _unless(stop)
        found = attempt(kind, settings, deadline - time.monotonic(), **arguments)
        if not isinstance(found, Verdict):
            return found
        raise BadInput(found.text) if found.final else _NoAnswer(found.text)

    def pause(seconds: float) -> None:
        stop.wait(seconds)
        _unless(stop)

    try:
        return retry(once, _NoAnswer, Persistence(BACKOFF, within_s=timeout_s), _log_once(settings, timeout_s), pause)
    except _NoAnswer as error:
        raise Unavailable(f"no broker answers at {settings.url} ({error}): gave up after {timeout_s:g} s") from None


def _unless(stop: threading.Event) -> None:
    if stop.is_set():
        raise SystemExit(0)


def _log_once(settings: BrokerSettings, timeout_s: float) -> Callable[[_NoAnswer, float], None]:
    warned = threading.Event()

    def log_retry(error: _NoAnswer, remaining_s: float) -> None:
        if not warned.is_set():
            span = "" if math.isinf(timeout_s) else f" for {timeout_s:g} s"
            log.warning("no broker answers at %s yet (%s): trying%s", settings.url, error, span)
            warned.set()

    return log_retry


def attempt(
    kind: Callable[..., Client], settings: BrokerSettings, patience_s: float, **arguments: Any
) -> Client | Verdict:
    """Try once, for a few seconds and about as long as ``patience_s``: a client, or why there is none."""
    logging.getLogger("kafka").propagate = log.isEnabledFor(logging.DEBUG)  # what users need to know is said here
    patience_s = min(max(patience_s, LEAST_S), ATTEMPT_S)
    options, links = client_options(settings), list[KafkaNetClient]()

    def linked(**config: Any) -> KafkaNetClient:
        links.append(KafkaNetClient(**config))
        return links[-1]

    try:
        return kind(**options, bootstrap_timeout_ms=round(patience_s * 1000), kafka_client=linked, **arguments)
    except (KafkaError, OSError) as error:
        said, words = verdict(settings, settings.url, error), str(error)
    for link in links:
        link.close()  # a client that fails leaves its thread and sockets behind
    if said.final:
        return said
    from pipelines.kafka.async_clients import knock  # the other client library tells what this one hides

    with ThreadPoolExecutor(1) as beside:  # an event loop may run in this thread, as in notebooks
        return beside.submit(asyncio.run, knock(settings, patience_s)).result() or Verdict(words, final=False)


def admin(settings: BrokerSettings, timeout_s: float, stop: threading.Event | None = None) -> KafkaAdminClient:
    """A client for topics; close it."""
    return connect(KafkaAdminClient, settings, timeout_s, stop)


def demand(client: KafkaAdminClient, settings: BrokerSettings, wanted: TopicRights) -> set[str]:
    """The topics that are missing; raises ``BadInput`` where a right is, ``KafkaError`` where the broker is away."""
    described = client.describe_topics(list(wanted.topics))
    lacking = lacking_rights(described, wanted.topics)
    if wanted.group is not None and not _may_join(client, wanted.group):
        lacking.append(f"read group {wanted.group}")
    if lacking:
        raise refused(settings, lacking)
    return {topic["name"] for topic in described if topic["error_code"] != 0}


def _may_join(client: KafkaAdminClient, group: str) -> bool:
    """False where the broker says no; a coordinator that is not there yet says nothing."""
    try:
        described = client.describe_groups([group])[group]
    except GroupAuthorizationFailedError:
        return False
    except KafkaError:
        return True
    allowed = described.get("authorized_operations")
    return "GroupAuthorizationFailed" not in str(described.get("error")) and (not allowed or "READ" in allowed)


def frames_producer(settings: BrokerSettings, timeout_s: float, stop: threading.Event | None = None) -> KafkaProducer:
    """The producer that ``operators.publish.kafka_frames`` wants: in order, patient, not idempotent.

    kafka-python's idempotent producer is of no use after one message that the broker refuses for its size.
    """
    return connect(
        _Producer,
        settings,
        timeout_s,
        stop,
        acks="all",
        enable_idempotence=False,
        max_in_flight_requests_per_connection=1,
        max_request_size=64 << 20,  # the topic's limit decides, not this client's
        delivery_timeout_ms=DAY_MS,
        request_timeout_ms=10_000,
        max_block_ms=5000,
        reconnect_backoff_max_ms=1000,
        allow_auto_create_topics=False,
    )


def consumer(
    settings: BrokerSettings,
    timeout_s: float,
    stop: threading.Event | None = None,
    group: str | None = None,
    **arguments: Any,
) -> KafkaConsumer:
    """A consumer; without a group it reads, and leaves no trace on the broker."""
    return connect(
        KafkaConsumer,
        settings,
        timeout_s,
        stop,
        group_id=group,
        enable_auto_commit=False,
        reconnect_backoff_max_ms=1000,
        allow_auto_create_topics=False,
        **arguments,
    )


def read_between(
    client: KafkaConsumer, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> Iterator[Any]:
    """The records between two offsets of each partition; Unavailable where the broker falls silent before."""
    unread = [place for place, start in starts.items() if start < ends[place]]
    client.assign(unread)
    for place in unread:
        client.seek(place, starts[place])
    while unread:
        batches = client.poll(timeout_ms=SILENCE_MS)
        for place, records in batches.items():
            yield from (record for record in records if record.offset < ends[place])
        unread = [place for place in unread if client.position(place) < ends[place]]
        if unread and not batches:
            raise Unavailable(f"topic {unread[0].topic}: nothing came for {SILENCE_MS / 1000:g} s")
