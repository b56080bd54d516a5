"""``sluice serve``: the live page of an installation, from its topics."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands import options
from pipelines.kafka.rights import needs
from pipelines.kafka.topics import TopicsConfig
from pipelines.observe.web.listen import DEFAULT
from pipelines.process.signals import stop_loop_on_signals
from pipelines.process.tasks import unless
from pipelines.query.draft import load_query

if TYPE_CHECKING:
    from pipelines.health.heartbeat import Heartbeat
    from pipelines.observe.live.page import Page
    from pipelines.observe.station import Station


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
    shown = None if query is None else load_query(query)
    broker, topics = at.broker, at.topics(None if shown is None else shown.publish.topics)
    # The page, which a mistyped option need not wait for.
    from pipelines.health.heartbeat import Heartbeat
    from pipelines.observe.live.page import Page
    from pipelines.observe.station import Station

    page, heart = Page(broker.url), Heartbeat(alive)
    if shown is not None:
        page.board.layout = shown.layout
    asyncio.run(_serve(at, topics, Station(listening, page), page, heart))


async def _serve(
    at: options.Installation, topics: TopicsConfig, station: Station, page: Page, heart: Heartbeat
) -> None:
    from pipelines.kafka.async_clients import wait_for_broker  # the client, and the decoder
    from pipelines.observe.live.broker_feed import READ, BrokerFeed

    names = {kind: topics.name(kind) for kind in READ}
    with stop_loop_on_signals() as stop:
        async with station.open():
            station.condition.worker_waits(f"waiting for {at.broker.url} and its topics")
            if await unless(stop, wait_for_broker(at.broker, needs(read=names.values()), at.timeout_s)):
                feed = BrokerFeed(at.broker, names, page)
                await unless(stop, feed.run(station.condition.broker_polled, heart.beat))
