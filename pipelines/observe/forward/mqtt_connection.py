"""One connection to an MQTT broker, from connecting until it is lost."""

from __future__ import annotations

import asyncio
import ssl
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from paho.mqtt.client import MQTT_ERR_SUCCESS, Client
from paho.mqtt.enums import CallbackAPIVersion

from pipelines.observe.forward.sink import Away, Cut
from serving.common.threads import in_own_thread

CONNECT_S = 10.0
ACKNOWLEDGED_S = 15.0
KEEPALIVE_S = 30
"""A broker that is silent for longer, though it was asked, is gone."""
ONLINE, OFFLINE = b"online", b"offline"
AT_LEAST_ONCE = 1
"""MQTT's quality of service 1: the broker acknowledges every message."""


@dataclass(frozen=True)
class MqttBroker:
    """Where the broker is and who we are there."""

    host: str
    port: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)


class MqttConnection:
    """A connection; its methods and ``lost`` belong to the event loop that made it."""

    def __init__(self, broker: MqttBroker, status_topic: str) -> None:
        self._broker, self._status_topic = broker, status_topic
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[str | None] = self._loop.create_future()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self.lost = asyncio.Event()
        self._leaving = False
        client = Client(
            CallbackAPIVersion.VERSION2, client_id=f"sluice-{uuid.uuid4().hex[:12]}", reconnect_on_failure=False
        )
        client.connect_timeout = CONNECT_S
        if broker.username is not None:
            client.username_pw_set(broker.username, broker.password)
        if broker.tls is not None:
            client.tls_set_context(broker.tls)
        client.will_set(status_topic, OFFLINE, AT_LEAST_ONCE, retain=True)
        client.on_connect = lambda _client, _data, _flags, reason, _more: self._tell(self._connected, reason)
        client.on_disconnect = lambda *_: self._tell(self._gone)
        client.on_message = lambda _client, _data, message: self._tell(self._status_said, bytes(message.payload))
        client.on_publish = lambda _client, _data, number, *_: self._tell(self._acknowledged, number)
        self._client = client

    async def open(self) -> None:
        """Connect; raises ``Away`` with the reason."""
        try:
            await in_own_thread(self._connect)
        except ssl.SSLCertVerificationError as error:
            raise Away(f"the broker's certificate is not trusted: {error.verify_message}") from None
        except (OSError, ValueError) as error:  # ValueError: no name of a host
            why = getattr(error, "strerror", None) or error or type(error).__name__
            raise Away(f"no connection: {why}") from None
        self._client.loop_start()
        try:
            async with asyncio.timeout(CONNECT_S):
                refusal = await self._opened
        except TimeoutError:
            raise Away(f"the broker did not answer within {CONNECT_S:g} s") from None
        if refusal is not None:
            raise Away(f"the broker refuses us: {refusal}")

    async def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Return once the broker has acknowledged the message; raises ``Away``, and ``Cut`` where it was under way."""
        if self.lost.is_set():
            raise Away("the connection is lost")
        sent = self._client.publish(topic, payload, AT_LEAST_ONCE, retain)
        if sent.rc != MQTT_ERR_SUCCESS:
            raise Away("the connection is lost")
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting[sent.mid] = done  # the callback runs on this loop, and so after this line
        try:
            async with asyncio.timeout(ACKNOWLEDGED_S):
                await done
        except TimeoutError:
            self._gone()
            raise Cut(f"the broker acknowledged nothing for {ACKNOWLEDGED_S:g} s") from None
        finally:
            self._waiting.pop(sent.mid, None)

    async def close(self) -> None:
        """Say goodbye where that is possible, and end the client's thread."""
        self._leaving = True
        if not self.lost.is_set() and self._client.is_connected():
            with suppress(Away):
                await self.publish(self._status_topic, OFFLINE, retain=True)
        self._client.disconnect()
        await in_own_thread(self._end)

    def _connect(self) -> None:
        self._client.connect(self._broker.host, self._broker.port, KEEPALIVE_S)

    def _end(self) -> None:
        self._client.loop_stop()

    def _tell(self, callback: Callable[..., None], *said: Any) -> None:
        """From the client's thread to the loop's."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(callback, *said)

    def _connected(self, reason: Any) -> None:
        if not self._opened.done():
            self._opened.set_result(str(reason) if reason.is_failure else None)
            self._client.subscribe(self._status_topic, AT_LEAST_ONCE)

    def _status_said(self, status: bytes) -> None:
        """A process that shares our topics has gone: we are still there."""
        if status == OFFLINE and not self._leaving:
            self._client.publish(self._status_topic, ONLINE, AT_LEAST_ONCE, retain=True)

    def _gone(self) -> None:
        self.lost.set()
        if not self._opened.done():
            self._opened.set_result("the connection was closed")
        for done in self._waiting.values():
            if not done.done():
                done.set_exception(Cut("the broker has closed the connection at a message"))

    def _acknowledged(self, number: int) -> None:
        done = self._waiting.get(number)
        if done is not None and not done.done():
            done.set_result(None)
