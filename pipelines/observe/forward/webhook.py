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
from http import HTTPStatus

from msgspec.structs import replace

from operators.wire.schema import Notification, Snapshot, to_json
from pipelines.observe.forward.in_order import AT_ONCE
from pipelines.observe.forward.sink import Away, EventPicture, Failed, PictureRefused, Refused
from serving.errors import Unavailable
from serving.remote.http_client import HttpClient, HttpTerms, NotReached

ANSWER_BYTES = 16 << 10
"""Read of an answer, so that its connection can be used again."""
SIGNATURE = "Sluice-Signature"


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
        terms = HttpTerms(endpoint.timeout_s, AT_ONCE, ANSWER_BYTES, endpoint.tls)
        self._client = HttpClient(endpoint.url, terms, now_s)

    async def run(self) -> None:
        """Keep the connections open while notifications are delivered."""
        try:
            await asyncio.Event().wait()
        finally:
            await self._client.close()

    def restore(self, notice: Notification) -> None:
        """Keep nothing: nobody can ask a webhook what is."""

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        body = to_json(_with(notice, picture))
        headers = {"Sluice-Notification": notice.id}
        if self._endpoint.secret is not None:
            headers[SIGNATURE] = signature(self._endpoint.secret, int(self._now_s()), body)
        try:
            answer = await self._client.request("POST", "", body, headers)
        except NotReached as error:
            raise Away(str(error)) from None
        except Unavailable as error:
            raise Failed(str(error)) from None
        said = f"the server answers {answer.status}"
        match answer.meaning:
            case "answered":
                return
            case "failed":
                raise Failed(said)
            case "busy":
                raise Away(said, answer.retry_after_s)
            case _ if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise PictureRefused(said)
            case _:
                raise Refused(f"{said}: redirects are not followed" if 300 <= answer.status < 400 else said)


def _with(notice: Notification, picture: EventPicture | None) -> Notification:
    if picture is None:
        return notice
    data = base64.b64encode(picture.jpeg).decode()
    return replace(notice, snapshot=Snapshot(width=picture.width, height=picture.height, base64=data))


def signature(secret: str, at_s: int, body: bytes) -> str:
    """The header's value: the time, seconds since 1970, and HMAC-SHA-256 of time, dot and body.

    >>> signature("It's a secret to everybody", 1700000000, b"{}")[:30]
    't=1700000000,v1=549f5febd124a7'
    """
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"
