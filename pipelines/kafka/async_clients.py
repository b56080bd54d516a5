"""The broker as the event loop's clients see it: addresses, their options, and waiting until it is there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from aiokafka.admin import AIOKafkaAdminClient

from pipelines.kafka.options import client_options
from pipelines.kafka.rights import Needs
from pipelines.kafka.verdict import Verdict
from pipelines.settings import BrokerSettings
from serving.common.backoff import Backoff, Persistence
from serving.common.retrying import retrying
from serving.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

log = logging.getLogger(__name__)

BACKOFF = Backoff(first_s=1.0, max_s=5.0)
CONNECT_TIMEOUT_S = 10.0


async def wait_for_broker(
    settings: BrokerSettings, wanted: Needs, give_up_s: float, then: Callable[[KafkaAdminClient], None] | None = None
) -> None:
    """Return once the broker answers and has the topics, telling the user every few seconds that it does not.

    ``then`` is done with a client of it, in a thread; where that raises ``KafkaError`` all is tried again. Raises
    ``Unavailable`` after ``give_up_s``, and ``BadInput`` at once where the broker refuses us.
    """

    async def once() -> None:
        if (reason := await asyncio.to_thread(_missing, settings, wanted, then)) is not None:
            raise Unavailable(reason)

    def log_retry(error: Unavailable, remaining_s: float) -> None:
        log.warning("%s; trying again for %.0f s", error, remaining_s)

    try:
        await retrying(once, Unavailable, Persistence(BACKOFF, within_s=give_up_s), log_retry)
    except Unavailable as error:
        raise Unavailable(f"{error}: gave up after {give_up_s:.0f} s") from None


def quiet() -> None:
    """Silence the library's own log, which repeats every failed attempt, unless debug output is wanted."""
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)


async def topics_at(settings: BrokerSettings) -> set[str]:
    """All topics that may be seen; raises ``KafkaError``, OSError or TimeoutError."""
    client = AIOKafkaAdminClient(**client_options(settings))
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await client.start()
            return set(await client.list_topics())
    finally:
        await client.close()


def _missing(settings: BrokerSettings, wanted: Needs, then: Callable[[KafkaAdminClient], None] | None) -> str | None:
    """What keeps us from the broker for now, None if nothing does; raises ``BadInput`` where waiting cannot help."""
    from kafka.admin import KafkaAdminClient  # a second client: runs without a broker need none
    from kafka.errors import KafkaError

    from pipelines.kafka.sync_clients import ATTEMPT_S, attempt, demand

    client = attempt(KafkaAdminClient, settings, ATTEMPT_S)
    if isinstance(client, Verdict):
        if client.final:
            raise BadInput(client.text)
        return f"no broker answers at {settings.url} ({client.text})"
    try:
        absent = sorted(demand(client, settings, wanted))
        if then is not None and not absent:
            then(client)
    except (KafkaError, OSError) as error:
        return f"no broker answers at {settings.url} ({type(error).__name__})"
    finally:
        client.close()
    if absent:
        return f"{settings.url} has no topic {', '.join(absent)}: make them with `sluice topics create`"
    return None
