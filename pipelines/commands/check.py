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
from pipelines.query.check import examine
from pipelines.query.dag import CompiledQuery, Dag, compiled
from pipelines.query.draft import Draft
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
    draft, doubts = _tried(_with_secrets(examine(query, known)), known)
    if draft.problems and as_json:
        problems = [{"path": dotted(each.path), "line": each.line, "message": each.message} for each in draft.problems]
        _say_json({"ok": False, "problems": problems, "stand_ins": [], "unmeasured": []})
        ctx.exit(2)
    wanted = compiled(draft.require(), known)
    prospects = {**demanding(wanted.query, known), **hopeless(wanted.query)}
    doubts += [
        f"{node}: {why}" for found in (prospects, exits_used(wanted.query, known)) for node, why in found.items()
    ]
    unmeasured, doubtful = _planned(wanted)
    stand_ins, doubts = _stand_ins(wanted), [*doubts, *doubtful]
    if as_json:
        _say_json({**_as_json(wanted), "doubts": doubts, "stand_ins": stand_ins, "unmeasured": list(unmeasured)})
        return
    lines = [*(f"  {line}" for line in stand_ins), *(f"  look at  {doubt}" for doubt in doubts)]
    if unmeasured:
        lines.insert(0, f"  timed when the query first runs, and not chosen before: {', '.join(unmeasured)}")
    say("\n".join([_summary(wanted.query, wanted.dag), *lines]))


def _say_json(said: dict[str, Any]) -> None:
    say(json.dumps(said, indent=2))


def _stand_ins(wanted: CompiledQuery) -> list[str]:
    from pipelines.measure.stand_ins.roles import prospects  # runtimes, which a query with problems does without

    return prospects(wanted.query, wanted.catalogue, artefacts_dir())


def _planned(wanted: CompiledQuery) -> tuple[Sequence[str], Sequence[str]]:
    """The models that nobody has measured here, and what is worth a look; nothing where no node has several."""
    if not any(node.spec.task == "recognise" and len(node.models) > 1 for node in wanted.dag.nodes):
        return (), ()
    from pipelines.assembly.choices import choices, doubts  # numbers, which other queries do without

    found = choices(wanted.dag, measured(wanted.catalogue))
    return found.tables.unknown, doubts(found)


def _with_secrets(draft: Draft) -> Draft:
    """The same with the secrets that addresses of streams name and that are not to be had here."""
    found = []
    for place, stream in enumerate(draft.query.streams if draft.query else ()):
        try:
            stream.uri.reveal()
        except BadInput as error:
            found.append(Problem(("streams", place, "uri"), str(error).partition("uri: ")[2]))
    return _with(draft, found)


def _with(draft: Draft, found: Sequence[Problem]) -> Draft:
    return replace(draft, problems=(*draft.problems, *draft.document.located(found)))


def _tried(draft: Draft, known: Catalogue) -> tuple[Draft, list[str]]:
    """The same with what a run would fail at, and what is worth a look; only for queries without problems."""
    if draft.problems:
        return draft, []
    device, _ = hwaccel(), decoded_memory()
    from pipelines.assembly.trial import tried  # decoders and engines, which a query with problems does without
    from pipelines.process.safe_console import work_bar
    from pipelines.run.capture_specs import source_faults

    query = draft.require()
    places = {node.name: place for place, node in enumerate(query.nodes)}
    streams = {stream.id: place for place, stream in enumerate(query.streams)}
    with work_bar("check") as told:
        faults = source_faults(query, device)
        trials = asyncio.run(tried(compiled(query, known), told))
    found = [Problem(("streams", streams[stream], "uri"), fault) for stream, fault in faults.items()]
    for name, trial in trials.items():
        found += [Problem(_place_of(query, places[name], model), fault) for model, fault in trial.models.items()]
        found += [Problem(("nodes", places[name], "gallery"), fault) for fault in trial.gallery]
    return _with(draft, found), [doubt for trial in trials.values() for doubt in trial.doubts]


def _place_of(query: Query, node: int, model: str) -> KeyPath:
    listed = query.nodes[node].models
    path: KeyPath = ("nodes", node, "model")
    return (*path, listed.index(model)) if model in listed and len(listed) > 1 else path


def _as_json(wanted: CompiledQuery) -> dict[str, Any]:
    query = wanted.query
    streams = [{"id": each.id, "uri": str(each.uri), "overload": each.overload_policy} for each in query.streams]
    nodes = [
        {"name": node.name, "task": node.spec.task, "input": node.spec.input, "models": node.models}
        for node in wanted.dag.nodes
    ]
    said = {"ok": True, "name": query.name, "slo_ms": query.slo_ms, "streams": streams, "nodes": nodes}
    return {**said, "when_needed": in_words(query)}


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
