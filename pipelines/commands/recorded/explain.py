"""``sluice explain``: in words why a frame was analysed as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from operators.wire.schema import NodePlan, Result, StreamPlan
from pipelines.commands import options
from pipelines.kafka.topics import TopicsConfig
from pipelines.process.terminal import say
from pipelines.report.explanation import explain
from pipelines.report.recorded import Sought, audits, budgets, results
from pipelines.settings import broker_settings
from serving.errors import BadInput

FILE = click.Path(path_type=Path)


@click.command(name="explain")
@click.argument("file", metavar="[RESULTS]", type=FILE, required=False)
@click.option("--frame", "seq", type=click.IntRange(min=0), required=True, metavar="N", help="The frame's `seq`.")
@click.option("--stream", metavar="ID", help="Of this stream; needed where several have such a frame.")
@click.option("--query", metavar="NAME", help="Of this query; needed where several ask about the stream.")
@click.option("--report", type=FILE, metavar="FILE", help="The run's closing report, for its audits and budgets.")
@options.broker
@options.prefix
def command(
    file: Path | None,
    seq: int,
    stream: str | None,
    query: str | None,
    report: Path | None,
    broker: str | None,
    prefix: str | None,
) -> None:
    """Say why a frame of RESULTS, which `sluice run --out` wrote, was analysed as it was.

    Without RESULTS its result and the audits of its stream are read from the broker. Of several runs the last counts.
    """
    sought = Sought(seq, stream, query)
    if file is None:
        if report is not None:
            raise BadInput("--report belongs to a file of results: give RESULTS, or leave it out")
        found, known = asyncio.run(_from_broker(broker, prefix, sought))
    else:
        if broker is not None:
            raise BadInput("give RESULTS or --broker, not both")
        found = _from_file(file, sought)
        known = [] if report is None else audits(report, found.stream)
    say("\n".join(explain(found, known, [] if report is None else budgets(report))))


def _from_file(file: Path, sought: Sought) -> Result:
    for each in results(file):
        sought.take(each)
    return sought.result(str(file))


async def _from_broker(broker: str | None, prefix: str | None, sought: Sought) -> tuple[Result, Sequence[NodePlan]]:
    from pipelines.kafka.topic_reader import messages  # the client, which a file does without

    settings, topics = broker_settings(broker), TopicsConfig().with_prefix(prefix)
    async for each in messages(settings, topics.name("results"), Result, sought.stream):
        sought.take(each)
    found, latest = sought.result(settings.url), list[NodePlan]()
    async for plan in messages(settings, topics.name("plans"), StreamPlan, found.stream):
        if (plan.stream, plan.query) == (found.stream, found.query):
            latest = plan.nodes
    return found, latest
