"""``sluice check``: is this query file right, and what would it do?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pipelines.commands import options
from pipelines.environment import artefacts_dir, catalogue, measured
from pipelines.measure.prospects import demanding, exits_used, hopeless
from pipelines.process.terminal import say
from pipelines.query.check import Examined, examine
from pipelines.query.dag import CompiledQuery, Dag
from pipelines.query.look_ahead import in_words
from pipelines.query.query_file import Query, StreamSpec
from pipelines.query.zones import MaskSpec, ShapeSpec
from pipelines.settings import decoded_memory, hwaccel
from serving.catalogue.lookup import Catalogue
from serving.common.explain import KeyPath, Problem, dotted
from serving.errors import BadInput


@click.command(name="check")
@click.argument("query", type=click.Path(path_type=Path))
@options.models
@click.option("--json", "as_json", is_flag=True, help="Say it in JSON.")
@click.pass_context
def command(ctx: click.Context, query: Path, models: tuple[Path, ...], as_json: bool) -> None:
    """Validate the file QUERY: every problem with its line, key and what is allowed.

    Opens its clips and models as a run does; cameras are left alone.
    """
    known = catalogue(models)
    examined, doubts = _tried(_with_secrets(examine(query, known)), known)
    if not examined.problems:
        query_read = examined.require()[0]
        prospects = {**demanding(query_read, known), **hopeless(query_read)}
        doubts += [
            f"{node}: {why}" for found in (prospects, exits_used(query_read, known)) for node, why in found.items()
        ]
    (unmeasured, doubtful), stand_ins = _planned(examined, known), _stand_ins(examined, known)
    doubts += doubtful
    if as_json:
        said = {**_as_json(examined, doubts), "stand_ins": stand_ins, "unmeasured": list(unmeasured)}
        say(json.dumps(said, indent=2))
        ctx.exit(2 if examined.problems else 0)
    lines = [*(f"  {line}" for line in stand_ins), *(f"  look at  {doubt}" for doubt in doubts)]
    if unmeasured:
        lines.insert(0, f"  timed when the query first runs, and not chosen before: {', '.join(unmeasured)}")
    say("\n".join([_summary(*examined.require()), *lines]))


def _stand_ins(examined: Examined, known: Catalogue) -> list[str]:
    if examined.problems:
        return []
    from pipelines.measure.stand_ins.roles import prospects  # runtimes, which a query with problems does without

    return prospects(examined.require()[0], known, artefacts_dir())


def _planned(examined: Examined, known: Catalogue) -> tuple[Sequence[str], Sequence[str]]:
    """The models that nobody has measured here, and what is worth a look.

    Nothing for queries with problems, or with one model a node.
    """
    if examined.problems:
        return (), ()
    dag = examined.require()[1]
    if not any(node.spec.task == "recognise" and len(node.models) > 1 for node in dag.nodes):
        return (), ()
    from pipelines.assembly.choices import choices, doubts  # numbers, which other queries do without

    found = choices(dag, measured(known))
    return found.tables.unknown, doubts(found)


def _with_secrets(examined: Examined) -> Examined:
    """The same with the secrets that addresses of streams name and that are not to be had here."""
    found = []
    for place, stream in enumerate(examined.draft.query.streams if examined.draft.query else ()):
        try:
            stream.uri.reveal()
        except BadInput as error:
            found.append(Problem(("streams", place, "uri"), str(error).removeprefix("uri: ")))
    return _with(examined, found)


def _with(examined: Examined, found: Sequence[Problem]) -> Examined:
    problems = (*examined.problems, *examined.draft.document.located(found))
    return replace(examined, problems=problems)


def _tried(examined: Examined, known: Catalogue) -> tuple[Examined, list[str]]:
    """The same with what a run would fail at, and what is worth a look; only for queries without problems."""
    if examined.problems:
        return examined, []
    device, _ = hwaccel(), decoded_memory()
    from pipelines.assembly.trial import tried  # decoders and engines, which a query with problems does without
    from pipelines.process.safe_console import work_bar
    from pipelines.run.capture_specs import source_faults

    query, dag = examined.require()
    places = {node.name: place for place, node in enumerate(query.nodes)}
    streams = {stream.id: place for place, stream in enumerate(query.streams)}
    with work_bar("check") as told:
        faults = source_faults(query, device)
        trials = asyncio.run(tried(CompiledQuery(query, dag, known), told))
    found = [Problem(("streams", streams[stream], "uri"), fault) for stream, fault in faults.items()]
    for name, trial in trials.items():
        found += [Problem(_place_of(query, places[name], model), fault) for model, fault in trial.models.items()]
        found += [Problem(("nodes", places[name], "gallery"), fault) for fault in trial.gallery]
    return _with(examined, found), [doubt for trial in trials.values() for doubt in trial.doubts]


def _place_of(query: Query, node: int, model: str) -> KeyPath:
    listed = query.nodes[node].models
    path: KeyPath = ("nodes", node, "model")
    return (*path, listed.index(model)) if model in listed and len(listed) > 1 else path


def _as_json(examined: Examined, doubts: Sequence[str]) -> dict[str, Any]:
    if examined.problems:
        return {"ok": False, "problems": [_problem(problem) for problem in examined.problems]}
    query, dag = examined.require()
    streams = [{"id": each.id, "uri": str(each.uri), "overload": each.overload_policy} for each in query.streams]
    nodes = [{"name": n.name, "task": n.spec.task, "input": n.spec.input, "models": n.models} for n in dag.nodes]
    said = {"ok": True, "name": query.name, "slo_ms": query.slo_ms, "streams": streams, "nodes": nodes}
    return {**said, "when_needed": in_words(query), "doubts": list(doubts)}


def _problem(problem: Problem) -> dict[str, Any]:
    return {"path": dotted(problem.path), "line": problem.line, "message": problem.message}


def _summary(query: Query, dag: Dag) -> str:
    rows = [("stream", stream.id, _source(stream)) for stream in query.streams]
    rows += [(node.spec.task, node.name, f"{node.spec.input or 'frame'} → {_first(node.models)}") for node in dag.nodes]
    rows += [("mask", ", ".join(mask.streams), _mask(mask, query.streams)) for mask in query.masks]
    rows += [("zone", zone.name, f"{_about(zone)}, {len(zone.polygon)} corners") for zone in query.zones]
    rows += [("line", line.name, f"{_about(line)}, {len(line.points)} points") for line in query.lines]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"  {kind:<{widths[0]}}  {name:<{widths[1]}}  {what}" for kind, name, what in rows]
    lines += [f"  when needed  {line}" for line in in_words(query)]
    return "\n".join([f"ok: {query.name}, {query.slo_ms:g} ms from capture to result", *lines])


def _source(stream: StreamSpec) -> str:
    sample = stream.sample if isinstance(stream.sample, str) else f"{stream.sample.fps:g} fps"
    return f"{stream.uri} ({sample}, {stream.overload_policy})"


def _mask(mask: MaskSpec, streams: Sequence[StreamSpec]) -> str:
    """A mask's effect, and whether it lies on any stream of the query: a misspelt id is found here."""
    what = f"{mask.mask.kind}s {' and '.join(mask.labels or ('everything',))} in {len(mask.mask.polygon)} corners"
    nowhere = streams and not any(mask.mask.is_for(stream.id) for stream in streams)
    return f"{what} (no stream of this query has such an id)" if nowhere else what


def _about(shape: ShapeSpec) -> str:
    """The purpose of a zone or line."""
    return f"{' and '.join(shape.labels or ('everything',))} on {', '.join(shape.streams)}"


def _first(models: tuple[str, ...]) -> str:
    others = f" (or {', '.join(models[1:])})" if len(models) > 1 else ""
    return f"{models[0]}{others}" if models else "ids"
