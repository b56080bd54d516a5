"""Publishes notifications by MQTT, keeps the states of streams there, and announces streams to Home Assistant."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Mapping

from msgspec.structs import replace

from operators.wire.bounds import MOST_ZONES
from operators.wire.schema import Notification, Snapshot, to_json
from pipelines.observe.forward.delivery import BACKOFF
from pipelines.observe.forward.mqtt_connection import ONLINE, MqttBroker, MqttConnection
from pipelines.observe.forward.mqtt_topics import Announced, Topics, announcements, zone_announcement
from pipelines.observe.forward.sink import Away, EventPicture
from serving.common.redaction import redact
from serving.common.untrusted import printable

log = logging.getLogger(__name__)

MOST_STREAMS = 1000
"""Streams whose state is kept on the broker, and that are announced; events of further ones are published all the
same."""


class MqttSink:
    """A ``Sink``."""

    keeps_states = True

    def __init__(self, name: str, broker: MqttBroker, topics: Topics, announced: Announced | None = None) -> None:
        self._name, self._broker, self._topics, self._announced = name, broker, topics, announced
        self._states: OrderedDict[str, Notification] = OrderedDict()
        self._known: set[str] = set()
        self._zones: dict[str, set[str]] = {}
        """The zones of each stream of which the broker has been told on this connection."""
        self._connection: MqttConnection | None = None
        self._trouble = "not connected yet"
        self._tried = asyncio.Event()
        """Is set when the first attempt to connect is over."""
        self._full = False

    def restore(self, notice: Notification) -> None:
        """A state that the topic of states has: it is published whenever a connection begins."""
        if self._admits(notice.stream):
            self._states[notice.stream] = notice

    async def run(self) -> None:
        """Stay connected; every connection begins with all that is retained."""
        rng, failures = random.Random(), 0
        while True:
            connection = MqttConnection(self._broker, self._topics.status)
            try:
                await connection.open()
                await self._begin(connection)
                self._connection, failures = connection, 0
                self._tried.set()
                log.info("sink %s is connected to %s:%d", self._name, self._broker.host, self._broker.port)
                await connection.lost.wait()
                self._trouble = "the connection is lost"
            except Away as error:
                said = printable(redact(str(error)), 300)
                if said != self._trouble:
                    log.warning("sink %s: %s; trying again", self._name, said)
                self._trouble = said
                failures += 1
            finally:
                self._connection = None
                self._tried.set()
                await connection.close()
            await asyncio.sleep(BACKOFF.delay_s(failures, rng))

    async def deliver(self, notice: Notification, picture: EventPicture | None) -> None:
        if notice.state is not None:
            self.restore(notice)  # a later connection begins with it, also where it is given up till then
        await self._tried.wait()
        connection = self._connection
        if connection is None:
            raise Away(self._trouble)
        await self._announce(connection, notice.stream)
        if notice.state is not None:
            if notice.stream in self._states:
                await connection.publish(self._topics.state(notice.stream), to_json(notice), retain=True)
            return
        if notice.count is not None:
            retained = notice.stream in self._known
            await connection.publish(self._topics.counts(notice.stream), to_json(notice), retain=retained)
            if retained:
                await self._tell_zones(connection, notice.stream, notice.count.zones)
            return
        if picture is not None:
            topic = self._topics.snapshot(notice.stream)
            await connection.publish(topic, picture.jpeg)
            notice = replace(notice, snapshot=Snapshot(width=picture.width, height=picture.height, topic=topic))
        await connection.publish(self._topics.events(notice.stream), to_json(notice))

    async def _begin(self, connection: MqttConnection) -> None:
        await connection.publish(self._topics.status, ONLINE, retain=True)
        known, self._known, self._zones = list(self._known | self._states.keys()), set(), {}
        for stream in known:
            await self._announce(connection, stream)
        for stream, notice in list(self._states.items()):
            await connection.publish(self._topics.state(stream), to_json(notice), retain=True)

    async def _tell_zones(
        self, connection: MqttConnection, stream: str, zones: Mapping[str, Mapping[str, int]]
    ) -> None:
        """The objects in each zone; those beyond the bound are told with the counts alone."""
        told = self._zones.setdefault(stream, set())
        for zone in (each for each in zones if each in told or len(told) < MOST_ZONES):
            if zone not in told and (wanted := self._announced) is not None:
                await connection.publish(*zone_announcement(wanted, self._topics, stream, zone), retain=True)
            told.add(zone)
            await connection.publish(self._topics.zone(stream, zone), b"%d" % sum(zones[zone].values()), retain=True)

    async def _announce(self, connection: MqttConnection, stream: str) -> None:
        """Once on each connection."""
        if stream in self._known or not self._admits(stream):
            return
        if (wanted := self._announced) is not None:
            for topic, payload in announcements(wanted, self._topics, stream).items():
                await connection.publish(topic, payload, retain=True)
        self._known.add(stream)

    def _admits(self, stream: str) -> bool:
        """Whether a stream may have something that is retained: made-up names must not fill the broker."""
        if stream in self._known or stream in self._states:
            return True
        if len(self._known | self._states.keys()) < MOST_STREAMS:
            return True
        if not self._full:
            log.warning("sink %s: more than %d streams: further ones have no retained state", self._name, MOST_STREAMS)
        self._full = True
        return False
