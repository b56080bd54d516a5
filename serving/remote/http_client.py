"""HTTP to one endpoint: bounded answers, no redirects, no cookies, no proxies, nothing unpacked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

import aiohttp

from serving.common.retrying import asked_for_s
from serving.common.wire_use import called
from serving.errors import Unavailable
from serving.remote.endpoint.reply import LARGEST_BYTES

BUSY = {429, 503}
WRONG = {400, 404, 405, 413, 415, 422, 501}
KEYLESS = {401, 403}
PASSING = {408, 425}


class NotReached(Unavailable):
    """There was no connection: nothing was sent."""


@dataclass(frozen=True)
class EndpointAnswer:
    """The answer to one request; the body does not show in a ``repr``."""

    status: int
    retry_after_s: float
    body: bytes = field(repr=False)

    @property
    def meaning(self) -> Literal["answered", "wrong", "no key", "busy", "failed", "refused"]:
        """The meaning of its status; a redirect is refused."""
        if self.status == 200:
            return "answered"
        if self.status in BUSY:
            return "busy"
        if self.status in KEYLESS:
            return "no key"
        if self.status in WRONG:
            return "wrong"
        return "failed" if self.status >= 500 or self.status in PASSING else "refused"


class EndpointConnection:
    """The connections of one endpoint; opened by the first request, on the event loop that makes it."""

    def __init__(self, url: str, key: str | None, timeout_s: float, at_once: int) -> None:
        self._url, self._key, self._timeout_s, self._at_once = url.rstrip("/"), key, timeout_s, at_once
        self._session: aiohttp.ClientSession | None = None

    async def request(self, method: Literal["GET", "POST"], path: str, body: bytes | None = None) -> EndpointAnswer:
        """Ask once; Unavailable, without the address, where there is no answer or it is too long."""
        try:
            async with self._opened().request(
                method, f"{self._url}{path}", data=body, headers=self._headers(), allow_redirects=False
            ) as answer:
                data = await _read(answer.content)
                if body is not None:
                    called(len(body), len(data))
                return EndpointAnswer(answer.status, asked_for_s(answer.headers.get("Retry-After"), time.time()), data)
        except aiohttp.ConnectionTimeoutError:
            raise NotReached("no connection in time") from None
        except TimeoutError:
            raise Unavailable(f"no answer within {self._timeout_s:g} s") from None
        except aiohttp.ClientConnectorCertificateError:
            raise NotReached("the server's certificate is not trusted") from None
        except aiohttp.ClientConnectorError as error:
            cause = error.os_error.strerror or type(error.os_error).__name__
            raise NotReached(f"no connection: {cause}") from None
        except (aiohttp.ClientError, ValueError) as error:  # ValueError: of what is no HTTP
            raise Unavailable(f"no answer: {type(error).__name__}") from None

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()
            await asyncio.sleep(0)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._at_once),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=self._timeout_s / 2),
                auto_decompress=False,
            )
        return self._session

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": f"sluice/{version('sluice-video')}",
        }
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers


async def _read(content: aiohttp.StreamReader) -> bytes:
    """All of an answer; Unavailable where it is longer than allowed: the rest is not read."""
    data = bytearray()
    async for part in content.iter_any():
        data += part
        if len(data) > LARGEST_BYTES:
            raise Unavailable(f"the answer has more than {LARGEST_BYTES} bytes")
    return bytes(data)
