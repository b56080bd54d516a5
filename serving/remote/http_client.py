"""HTTP to one address: bounded answers, no redirects, no cookies, no proxies, nothing unpacked."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

import aiohttp

from serving.common.retrying import asked_for_s
from serving.errors import Unavailable

BUSY = {429, 503}
WRONG = {400, 404, 405, 413, 415, 422, 501}
KEYLESS = {401, 403}
PASSING = {408, 425}
"""Refusals that another attempt may overcome."""


class NotReached(Unavailable):
    """There was no connection: nothing was sent."""


@dataclass(frozen=True)
class HttpAnswer:
    """The answer to one request; the body does not show in a ``repr``."""

    status: int
    retry_after_s: float
    body: bytes = field(repr=False)
    """So much of it as is read; longer ones have one byte more than that."""

    @property
    def meaning(self) -> Literal["answered", "wrong", "no key", "busy", "failed", "refused"]:
        """The meaning of its status; a redirect is refused.

        >>> [HttpAnswer(status, 0.0, b"").meaning for status in (204, 301, 400, 408, 500, 503)]
        ['answered', 'refused', 'wrong', 'failed', 'failed', 'busy']
        """
        if 200 <= self.status < 300:
            return "answered"
        if self.status in BUSY:
            return "busy"
        if self.status in KEYLESS:
            return "no key"
        if self.status in WRONG:
            return "wrong"
        return "failed" if self.status >= 500 or self.status in PASSING else "refused"


@dataclass(frozen=True)
class HttpTerms:
    """The bounds of a client, and whom it trusts."""

    timeout_s: float
    at_once: int
    most_bytes: int
    """Read of an answer; the connection of a longer one is closed."""
    tls: ssl.SSLContext | None = None
    """None: the system's certificates."""


class HttpClient:
    """The connections to one address; opened by the first request, on the event loop that makes it, and once.

    The address shows in no error: it may hold a secret.
    """

    def __init__(self, url: str, terms: HttpTerms, now_s: Callable[[], float] = time.time) -> None:
        self._url, self._terms, self._now_s = url, terms, now_s
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def request(
        self, method: Literal["GET", "POST"], path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> HttpAnswer:
        """Ask once; NotReached where there is no connection, or it was closed, Unavailable where there is no answer."""
        if self._closed:
            raise NotReached("no connection: it was closed")
        try:
            async with self._opened().request(
                method, f"{self._url}{path}", data=body, headers=headers, allow_redirects=False
            ) as answer:
                asked_s = asked_for_s(answer.headers.get("Retry-After"), self._now_s())
                return HttpAnswer(answer.status, asked_s, await _read(answer.content, self._terms.most_bytes))
        except aiohttp.ConnectionTimeoutError:
            raise NotReached("no connection in time") from None
        except TimeoutError:
            raise Unavailable(f"no answer within {self._terms.timeout_s:g} s") from None
        except aiohttp.ClientConnectorCertificateError as error:
            why = getattr(error.certificate_error, "verify_message", "") or "it names another host"
            raise NotReached(f"the server's certificate is not trusted: {why}") from None
        except aiohttp.ClientConnectorError as error:
            raise NotReached(f"no connection: {_why(error.os_error)}") from None
        except (aiohttp.ClientResponseError, ValueError):
            raise Unavailable("no answer: what came is not HTTP") from None
        except aiohttp.ClientError:
            raise Unavailable("no answer: the connection broke") from None

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            terms = self._terms
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=terms.at_once, ssl=terms.tls or True),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=terms.timeout_s, sock_connect=terms.timeout_s / 2),
                auto_decompress=False,
                headers={
                    "Accept-Encoding": "identity",
                    "Content-Type": "application/json",
                    "User-Agent": f"sluice/{version('sluice-video')}",
                },
            )
        return self._session


async def _read(content: aiohttp.StreamReader, most: int) -> bytes:
    """An answer as far as it is read."""
    data = bytearray()
    async for part in content.iter_any():
        data += part
        if len(data) > most:
            break
    return bytes(data[: most + 1])


def _why(error: OSError) -> str:
    """The system's words, in the place of which asyncio puts the address, which is known."""
    said = error.strerror or type(error).__name__
    return os.strerror(error.errno) if error.errno and said.startswith("Connect call failed") else said
