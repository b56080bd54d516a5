"""The broker as the event loop's clients see it: addresses, their options, and waiting until it is there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import AuthenticationFailedError, KafkaError
from aiokafka.helpers import create_ssl_context

from pipelines.settings import BrokerSettings
from serving.errors import BadInput, Unavailable

log = logging.getLogger(__name__)

RETRY_S = 3.0
CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class LocalAddress:
    """``local://name``: the in-process transport."""

    name: str

    @property
    def url(self) -> str:
        """As Faust wants it."""
        return f"local://{self.name}"


Broker = BrokerSettings | LocalAddress


def aiokafka_options(settings: BrokerSettings) -> dict[str, Any]:
    """Keyword arguments that connect any client of aiokafka."""
    options: dict[str, Any] = {
        "bootstrap_servers": list(settings.servers),
        "security_protocol": settings.security_protocol,
    }
    if settings.uses_tls:
        options["ssl_context"] = tls_context(settings)
    if settings.sasl_mechanism is not None:
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.username
        options["sasl_plain_password"] = settings.password
    return options


def tls_context(settings: BrokerSettings) -> Any:
    """What to trust and whom to be; raises ``BadInput`` where a file does not hold what it should."""
    try:
        return create_ssl_context(cafile=settings.cafile, certfile=settings.certfile, keyfile=settings.keyfile)
    except OSError as error:  # ssl.SSLError is one
        files = ", ".join(str(path) for path in (settings.cafile, settings.certfile, settings.keyfile) if path)
        raise BadInput(f"TLS for {settings.url}: cannot use {files}: {error}") from None


async def wait_for_broker(settings: BrokerSettings, topics: Collection[str], give_up_s: float) -> None:
    """Return once the broker answers and has the topics, telling the user every few seconds that it does not.

    Raises ``Unavailable`` after ``give_up_s``, and at once where the broker refuses the credentials.
    """
    started = time.monotonic()
    while (reason := await _missing(settings, topics)) is not None:
        waited_s = time.monotonic() - started
        if waited_s >= give_up_s:
            raise Unavailable(f"{reason}: gave up after {waited_s:.0f} s")
        log.warning("%s; trying again for %.0f s", reason, give_up_s - waited_s)
        await asyncio.sleep(min(RETRY_S, give_up_s - waited_s))


async def topics_at(settings: BrokerSettings) -> set[str]:
    """All topics that may be seen; raises ``KafkaError``, OSError or TimeoutError."""
    client = AIOKafkaAdminClient(**aiokafka_options(settings))
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await client.start()
            return set(await client.list_topics())
    finally:
        await client.close()


async def _missing(settings: BrokerSettings, topics: Collection[str]) -> str | None:
    """What keeps us from working with the broker; None where nothing does."""
    try:
        there = await topics_at(settings)
    except AuthenticationFailedError as error:
        raise Unavailable(f"the broker at {settings.url} refuses the credentials: {error}") from None
    except (KafkaError, OSError, TimeoutError) as error:
        return f"no broker answers at {settings.url} ({type(error).__name__})"
    absent = sorted(set(topics) - there)
    if absent:
        return f"{settings.url} has no topic {', '.join(absent)}: make them with `sluice topics create`"
    return None
