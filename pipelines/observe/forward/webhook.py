"""Posts notifications as JSON to a web server, signed so that it can tell that they are ours and new."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

import aiohttp
from msgspec.structs import replace

from operators.wire.schema import Notification, Snapshot, to_json
from pipelines.observe.forward.in_order import AT_ONCE
from pipelines.observe.forward.sink import Away, EventPicture, Failed, Refused
from serving.common.retrying import asked_for_s

ANSWER_BYTES = 16 << 10
"""Read of an answer, so that its connection can be used again; one that is longer is closed."""
SIGNATURE = "Sluice-Signature"
AWAY = {429, 503}
"""Not now."""
PASSING = {408, 425}
"""Refusals that another attempt may overcome."""


@dataclass(frozen=True)
class Endpoint:
    """Where to post, and what signs it. Neither shows in a ``repr``: the address may hold a secret."""

    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    timeout_s: float = 10.0
    tls: ssl.SSLContext | None = field(default=None, repr=False)


class WebhookSink:
    """A ``Sink``."""

    keeps_states = False

    def __init__(self, endpoint: Endpoint, now_s: Callable[[], float] = time.time) -> None:
        self._endpoint, self._now_s = endpoint, now_s
        self._session: aiohttp.ClientSession | None = None

    async def run(self) -> None:
        """Keep the connections open while notifications are delivered."""
        tls: ssl.SSLContext | bool = self._endpoint.tls or True
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=AT_ONCE, ssl=tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._endpoint.timeout_s, sock_connect=self._endpoint.timeout_s / 2),
            auto_decompress=False,
            headers={"User-Agent": f"sluice/{version('sluice-video')}"},
        ) as session:
            self._session = session
            await asyncio.Event().wait()

    def restore(self, notice: Notification) -> None:
        """Keep nothing: nobody can ask a webhook what is."""

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        if self._session is None:
            raise Away("not started yet")
        body = to_json(_with(notice, picture))
        headers = {"Content-Type": "application/json", "Sluice-Notification": notice.id}
        if self._endpoint.secret is not None:
            headers[SIGNATURE] = signature(self._endpoint.secret, int(self._now_s()), body)
        try:
            async with self._session.post(
                self._endpoint.url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                await answer.content.read(ANSWER_BYTES)
                status, retry_after = answer.status, answer.headers.get("Retry-After")
        except aiohttp.ConnectionTimeoutError:
            raise Away("no connection: nothing answers") from None
        except TimeoutError:
            raise Failed(f"no answer within {self._endpoint.timeout_s:g} s") from None
        except aiohttp.ClientConnectorError as error:  # TLS that is not trusted, too
            raise Away(_cause(error)) from None
        except aiohttp.ClientResponseError:
            raise Failed("what it answers is not HTTP") from None
        except aiohttp.ClientError:
            raise Failed("the connection broke") from None
        said = f"the server answers {status}"
        match meaning(status):
            case "refused":
                raise Refused(f"{said}: redirects are not followed" if 300 <= status < 400 else said)
            case "failed":
                raise Failed(said)
            case "away":
                raise Away(said, asked_for_s(retry_after, self._now_s()))


def _with(notice: Notification, picture: EventPicture | None) -> Notification:
    if picture is None:
        return notice
    data = base64.b64encode(picture.jpeg).decode()
    return replace(notice, snapshot=Snapshot(width=picture.width, height=picture.height, base64=data))


def _cause(error: aiohttp.ClientConnectorError) -> str:
    """Why there is no connection, without the address."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or "it names another host"
        return f"the server's certificate is not trusted: {why}"
    return f"no connection: {error.os_error.strerror or type(error.os_error).__name__}"


def meaning(status: int) -> Literal["delivered", "refused", "failed", "away"]:
    """The meaning of a web server's status for a notification; redirects are not followed.

    >>> [meaning(status) for status in (204, 301, 400, 408, 500, 503)]
    ['delivered', 'refused', 'refused', 'failed', 'failed', 'away']
    """
    if 200 <= status < 300:
        return "delivered"
    if status in AWAY:
        return "away"
    return "failed" if status >= 500 or status in PASSING else "refused"


def signature(secret: str, at_s: int, body: bytes) -> str:
    """The header's value: the time, seconds since 1970, and HMAC-SHA-256 of time, dot and body.

    >>> signature("It's a secret to everybody", 1700000000, b"{}")[:30]
    't=1700000000,v1=549f5febd124a7'
    """
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"
