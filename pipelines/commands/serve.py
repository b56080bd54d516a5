"""``sluice serve``: the live page of an installation, from its topics."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands import options
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.web.listen import DEFAULT
from pipelines.process.signals import stop_thread_on_signals
from pipelines.query.query_file import load_query
from pipelines.settings import BrokerSettings

if TYPE_CHECKING:
    from pipelines.health.heartbeat import Heartbeat
    from pipelines.observe.live.page import Page
    from pipelines.observe.station import Station
    from pipelines.observe.web.condition import Condition

KNOCK_S = 1.0


@click.command(name="serve")
@options.installation
@click.option("--listen", metavar="HOST:PORT", help="Where to serve it.", default=DEFAULT, show_default=True)
@click.option("--secret-file", type=click.Path(path_type=Path), metavar="FILE", help=options.FIRST_LINE)
@click.option("--query", type=click.Path(path_type=Path), metavar="FILE", help="Show its zones and lines on pictures.")
@options.alive
def command(
    at: options.Installation,
    listen: str,
    secret_file: Path | None,
    query: Path | None,
    alive: Path | None,
) -> None:
    """Show all streams of an installation in a browser, live: pictures, states, latency, who answered.

    It reads topics and changes nothing. Frames are read only while the page is open.
    """
    listening = options.listen_at(listen, secret_file)
    shown, topics = None if query is None else load_query(query), at.topics()
    # The page, which a mistyped option need not wait for.
    from pipelines.health.heartbeat import Heartbeat
    from pipelines.observe.live.page import Page
    from pipelines.observe.station import Station

    page, heart = Page(at.broker.url), Heartbeat(alive)
    if shown is not None:
        page.board.layout = shown.layout
    station = Station(listening, page)
    asyncio.run(_serve(station, partial(_feed, at.broker, topics, at.timeout_s, page, station.condition, heart)))


async def _serve(station: Station, feed: Callable[[threading.Event, asyncio.AbstractEventLoop], None]) -> None:
    """The broker's client waits in a thread of its own, so that this one can answer."""
    async with stop_thread_on_signals() as stop, station.open():
        await asyncio.to_thread(feed, stop, asyncio.get_running_loop())


def _feed(
    settings: BrokerSettings,
    topics: TopicsConfig,
    timeout_s: float,
    page: Page,
    condition: Condition,
    heart: Heartbeat,
    stop: threading.Event,
    loop: asyncio.AbstractEventLoop,
) -> None:
    from pipelines.kafka.sync_clients import admin, consumer, demand  # the clients, and the decoder
    from pipelines.observe.live.broker_feed import READ, BrokerFeed

    kinds = {topics.name(kind): kind for kind in READ}
    with closing(admin(settings, timeout_s, stop)) as client:
        demand(client, settings, needs(read=kinds))
    reader = consumer(settings, timeout_s, stop, metadata_max_age_ms=5000, max_partition_fetch_bytes=8 << 20)
    with closing(reader):
        condition.worker_waits("waiting for topics: `sluice topics create` makes them")
        feed = BrokerFeed(reader, kinds, page, partial(_why_away, settings))
        feed.run(stop, loop, condition.broker_polled, heart.beat)


def _why_away(settings: BrokerSettings) -> str | None:
    from pipelines.kafka.async_clients import knock

    found = asyncio.run(knock(settings, KNOCK_S))
    return None if found is None else f"no broker answers at {settings.url} ({found.text})"
