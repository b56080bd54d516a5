"""``sluice learn``: exits for the recognise nodes of a query, learnt from a recording of its cameras before it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.process.safe_console import work_bar
from pipelines.process.terminal import say
from pipelines.query.check import open_query
from pipelines.settings import hwaccel
from serving.errors import BadInput

if TYPE_CHECKING:
    from pipelines.query.dag import CompiledQuery
    from pipelines.run.learn.choice import LearntExits
    from pipelines.run.learn.learning import LearnReport, LearntNode


@click.command("learn")
@click.argument("query", type=click.Path(path_type=Path))
@options.sources
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Pictures of one object each, such as the camera's crops, in folders of any depth; in place of a recording.",
)
@options.limit
@options.models
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def command(
    query: Path,
    sources: tuple[str, ...],
    data: Path | None,
    limit: int | None,
    models: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Learn from a recording what the recognisers of QUERY can do at exits, before their last layer.

    Its streams, or those that --source names, are analysed with the reference networks alone. Exits are trained on the
    first part of what these said and certified on the rest; ways to run each network on this machine are compared.
    What pays is stored, and every run of the query begins with it. Ctrl-C ends the recording early, and what was seen
    until then is learnt from.
    """
    if data is not None and sources:
        raise BadInput("--data takes the place of a recording: give it, or --source")
    wanted = open_query(query, catalogue(models), sources)
    if wanted.query.accuracy >= 1:
        raise BadInput("at accuracy: 1 nothing but the reference may answer")
    # Networks and statistics, which a wrong query need not wait for.
    from pipelines.run.learn.learning import LearnRequest, learn

    request = LearnRequest(limit, hwaccel(), data)
    with work_bar(wanted.query.name) as report:
        found = learn(wanted, request, report)
    say(json.dumps(_plain(found), indent=2) if as_json else "\n".join(_lines(found, wanted)))


def _lines(found: LearnReport, wanted: CompiledQuery) -> Iterator[str]:
    from pipelines.measure.stand_ins.roles import prospect

    for each in found.nodes:
        took = f", {1e3 * each.costs.whole_s:.2f} ms a look of {each.node.oracle}" if each.costs else ""
        yield f"{each.node.spec.name}: {each.looks} looks in {found.frames} frames{took}"
        if each.exits is None:
            yield f"  no exits: {each.why_not}"
        else:
            yield from (f"  {line}" for line in _of_exits(each, each.exits, wanted.query.accuracy))
    for name, why in found.others.items():
        yield f"{name}: no exits: {why}"
    yield from (prospect(model, contest, wanted.query.accuracy) for model, contest in found.contests.items())
    yield from (f"{model}: its variants are not compared: {why}" for model, why in found.uncompared.items())


def _of_exits(each: LearntNode, exits: LearntExits, accuracy: float) -> Iterator[str]:
    known, rates = exits.artefact, exits.tuned.hit_rates
    shares = {cut.tensor: cut.share for cut in each.node.cuts}
    where = " and ".join(
        f"{rate:.0%} of the looks at {shares[tensor]:.0%} of the work"
        for tensor, rate in zip(known.tensors, rates, strict=True)
    )
    yield f"exits answer {where}; a look takes {1 / exits.tuned.speedup:.0%} of the time"
    yield (
        f"on {exits.judged} looks that they were not trained on, {exits.wrong.found:.1%} of their answers are wrong, "
        f"{exits.wrong.most:.1%} at most, where {1 - accuracy:.1%} may be"
    )
    yield f"names lost: {exits.lost.found:.1%}, {exits.lost.most:.1%} at most"
    yield f"written to {each.file}"


def _plain(found: LearnReport) -> dict[str, Any]:
    import msgspec

    return {
        "frames": found.frames,
        "nodes": [_plain_node(each) for each in found.nodes],
        "others": dict(found.others),
        "contests": msgspec.to_builtins(found.contests),
        "uncompared": dict(found.uncompared),
    }


def _plain_node(each: LearntNode) -> dict[str, Any]:
    exits = each.exits
    said: dict[str, Any] = {
        "node": each.node.spec.name,
        "oracle": each.node.oracle,
        "looks": each.looks,
        "look_ms": None if each.costs is None else round(1e3 * each.costs.whole_s, 4),
        "why_not": each.why_not,
        "exits": None,
        "file": None if each.file is None else str(each.file),
    }
    if exits is not None:
        said["exits"] = {
            "cuts": [
                {"tensor": cut.tensor, "answered": rate, "threshold": cut.threshold}
                for cut, rate in zip(exits.artefact.exits, exits.tuned.hit_rates, strict=True)
            ],
            "speedup": exits.tuned.speedup,
            "judged": exits.judged,
            "wrong": {"found": exits.wrong.found, "most": exits.wrong.most},
            "names_lost": {"found": exits.lost.found, "most": exits.lost.most},
        }
    return said
