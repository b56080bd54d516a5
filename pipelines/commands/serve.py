"""``sluice serve``: the live page of an installation, from its topics."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.health.heartbeat import Heartbeat
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.web.listen import DEFAULT, Listen
from pipelines.process.signals import stop_on_signals
from pipelines.query.query_file import Query, load_query
from pipelines.settings import BrokerSettings, broker_settings

KNOCK_S = 1.0


@click.command(name="serve")
@options.broker
@options.broker_timeout
@click.option("--listen", metavar="HOST:PORT", help="Where to serve it.", default=DEFAULT, show_default=True)
@click.option("--secret-file", type=click.Path(path_type=Path), metavar="FILE", help=options.FIRST_LINE)
@click.option("--query", type=click.Path(path_type=Path), metavar="FILE", help="Show its zones and lines on pictures.")
@options.alive
@options.prefix
def command(
    broker: str | None,
    broker_timeout_s: float,
    listen: str,
    secret_file: Path | None,
    query: Path | None,
    alive: Path | None,
    prefix: str | None,
) -> None:
    """Show all streams of an installation in a browser, live: pictures, states, latency, who answered.

    It reads topics and changes nothing. Frames are read only while the page is open.
    """
    settings = broker_settings(broker)
    listening = options.listening(True, listen, secret_file)
    assert listening is not None
    shown, heart = None if query is None else load_query(query), Heartbeat(alive)
    with stop_on_signals() as stop:
        _serve(settings, TopicsConfig().with_prefix(prefix), listening, shown, broker_timeout_s, stop, heart)


def _serve(
    settings: BrokerSettings,
    topics: TopicsConfig,
    listen: Listen,
    query: Query | None,
    timeout_s: float,
    stop: threading.Event,
    heart: Heartbeat,
) -> None:
    # The clients, the decoder and aiohttp, which a mistyped option need not wait for.
    from pipelines.kafka.sync_clients import admin, consumer, demand
    from pipelines.observe.live.broker_feed import BrokerFeed, FeedTopics
    from pipelines.observe.live.page import Page
    from pipelines.observe.station import Station

    names = FeedTopics(*(topics.name(kind) for kind in ("results", "streams", "plans", "events", "frames")))
    with closing(admin(settings, timeout_s, stop)) as client:
        demand(client, settings, needs(read=[names.results, names.streams, names.plans, names.events, names.frames]))
    page = Page(settings.url)
    if query is not None:
        page.board.layout = query.layout
    station = Station(listen, page)
    with (
        station.open_in_thread() as loop,
        closing(
            consumer(settings, timeout_s, stop, metadata_max_age_ms=5000, max_partition_fetch_bytes=8 << 20)
        ) as reader,
    ):
        station.condition.worker_waits("waiting for topics: `sluice topics create` makes them")
        feed = BrokerFeed(reader, names, page, partial(_why_away, settings))
        feed.run(stop, loop, station.condition.broker_polled, heart.beat)


def _why_away(settings: BrokerSettings) -> str | None:
    from pipelines.kafka.async_clients import knock

    found = asyncio.run(knock(settings, KNOCK_S))
    return None if found is None else f"no broker answers at {settings.url} ({found.text})"
