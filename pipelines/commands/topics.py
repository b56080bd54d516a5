"""``sluice topics``: creates the topics as configured, and says what a broker has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.kafka import topic_admin
from pipelines.kafka.sync_clients import admin
from pipelines.kafka.topics import Found, TopicsConfig, TopicSettings, differences, too_small_messages
from pipelines.process.clicks import SuggestingGroup
from pipelines.process.terminal import say
from pipelines.query.draft import load_query

TITLES = ("TOPIC", "PARTITIONS", "COPIES", "KEEPS", "MAX MESSAGE", "STATE")

query_argument = click.argument("query", required=False, type=click.Path(path_type=Path))


@click.group(name="topics", cls=SuggestingGroup)
def command() -> None:
    """Create or describe the topics. QUERY is a query file whose publish.topics says how they shall be."""


@command.command()
@query_argument
@options.installation
@click.option("--update", is_flag=True, help="Change the settings of existing topics that differ.")
def create(query: Path | None, at: options.Installation, update: bool) -> None:
    """Create the topics that are missing; say what exists and differs."""
    config = _config(query, at)
    with closing(admin(at.broker, at.timeout_s)) as client:
        done = topic_admin.ensure(client, config.by_name(), config.replication, update)
    for topic in done:
        say(f"{topic.name}: {'created' if topic.created else 'updated' if topic.updated else 'exists'}")
        for difference in topic.updated:
            say(f"  {difference.key} was {difference.found}, is {difference.wanted}")
        for difference in topic.differences:
            say(f"  {difference}: {_remedy(difference.key)}")


@command.command()
@query_argument
@options.installation
@click.option("--json", "as_json", is_flag=True, help="One JSON object for all topics.")
def describe(query: Path | None, at: options.Installation, as_json: bool) -> None:
    """Show the topics as the broker has them, and where they differ from the configuration."""
    wanted = _config(query, at).by_name()
    with closing(admin(at.broker, at.timeout_s)) as client:
        found = topic_admin.find(client, wanted)
    if as_json:
        data = {name: _as_data(settings, found.get(name)) for name, settings in wanted.items()}
        say(json.dumps(data, indent=2))
        return
    _table([TITLES, *(_row(name, settings, found.get(name)) for name, settings in wanted.items())])
    for name, topic in found.items():
        if complaint := too_small_messages(name, differences(wanted[name], topic)):
            say(f"warning: {complaint}", err=True)


def _config(query: Path | None, at: options.Installation) -> TopicsConfig:
    return at.topics(None if query is None else load_query(query).publish.topics)


def _remedy(key: str) -> str:
    if key == "partitions":
        return "left alone, for other partitions would mix the order of streams"
    return "change it with --update"


def _table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(map(str.ljust, row, widths)).rstrip())


def _row(name: str, settings: TopicSettings, found: Found | None) -> tuple[str, ...]:
    if found is None:
        return (name, "", "", "", "", "missing: sluice topics create")
    state = "; ".join(map(str, differences(settings, found))) or "as configured"
    limit = f"{int(found.configs['max.message.bytes']):,} bytes"
    return (name, str(found.partitions), str(found.replication), _keeps(found), limit, state)


def _keeps(found: Found) -> str:
    if "compact" in found.configs["cleanup.policy"]:
        return "last per key"
    age_ms, size_bytes = int(found.configs["retention.ms"]), int(found.configs["retention.bytes"])
    age = (
        "for ever" if age_ms < 0 else f"{age_ms / 60_000:g} min" if age_ms < 7_200_000 else f"{age_ms / 3_600_000:g} h"
    )
    return age if size_bytes < 0 else f"{age}, {size_bytes >> 20} MiB a partition"


def _as_data(settings: TopicSettings, found: Found | None) -> dict[str, object]:
    if found is None:
        return {"exists": False}
    unlike = [{"key": item.key, "found": item.found, "wanted": item.wanted} for item in differences(settings, found)]
    configs = {key: found.configs.get(key) for key in settings.broker_configs()}
    return {
        "exists": True,
        "partitions": found.partitions,
        "replication": found.replication,
        "configs": configs,
        "differences": unlike,
    }
