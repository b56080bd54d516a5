"""``sluice models``: what is here, what can be fetched or made, and whether it is whole; and ``sluice learn``.

Read in this order: ``profile``, ``split``, ``crops``, ``train``, ``learn``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from pipelines.commands import options
from pipelines.commands.models import crops, profile, split, train
from pipelines.environment import artefacts_dir, catalogue
from pipelines.process.clicks import SuggestingGroup
from pipelines.process.safe_console import SafeConsole
from pipelines.process.terminal import say
from pipelines.settings import model_dirs
from serving.catalogue.lookup import Catalogue, Entry, user_models, verify
from serving.catalogue.public import PublicModel, public_model, public_models
from serving.catalogue.pull import pull as fetch
from serving.errors import BadInput, ModelError


@click.group("models", cls=SuggestingGroup)
def command() -> None:
    """List, pull and verify models."""


command.add_command(crops.command)
command.add_command(profile.command)
command.add_command(split.command)
command.add_command(train.command)


@command.command("list")
@options.models
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of a table.")
@click.option(
    "--long", "whole", is_flag=True, help="All measured accuracies, with their data, and shapes that were tried."
)
def list_models(models: tuple[Path, ...], as_json: bool, whole: bool) -> None:
    """Show the models that are here and those that can be pulled."""
    rows = list(_rows(catalogue(models)))
    if as_json:
        say(json.dumps(rows, indent=2))
    else:
        SafeConsole().print(_table(rows))
        for line in _figures(rows) if whole else ():
            say(line)


@command.command("pull")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Pull every public model.")
@click.option(
    "--mirror",
    metavar="URL",
    help="Fetch from this server instead: by path, file name, or whole URL.",
)
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), help="Where to put them. Default: the user's.")
def pull_models(names: Sequence[str], everything: bool, mirror: str | None, into: Path | None) -> None:
    """Fetch public models: tried again where cut, and accepted only with the right SHA-256."""
    if not names and not everything:
        raise BadInput(f"name the models to pull, or --all; known: {', '.join(public_models())}")
    wanted = [public_model(name) for name in (public_models() if everything else names)]
    target = into or next(iter(model_dirs()), user_models())
    with _bars() as bars:
        for model in wanted:
            folder = _fetch(model, target, mirror, bars)
            bars.console.print(f"{model.name}: {folder} ({model.card['licence']})", highlight=False, soft_wrap=True)


@command.command("verify")
@click.argument("names", nargs=-1)
@options.models
def verify_models(names: Sequence[str], models: tuple[Path, ...]) -> None:
    """Check cards and the SHA-256 of weights; without names, of all models that are here."""
    known = catalogue(models)
    problems = []
    for name in names or known.names():
        try:
            verify(known.find(name))
        except ModelError as error:
            problems.append(str(error))
        else:
            say(f"{name}: ok")
    if problems:
        raise ModelError("\n".join(problems))


def _rows(known: Catalogue) -> Iterator[dict[str, Any]]:
    """One mapping per model: those that are here, then those that can be pulled."""
    here = known.names()
    for name in here:
        try:
            yield _described(known.find(name))
        except ModelError as error:
            yield {"name": name, "state": "broken", "directory": str(here[name]), "problem": str(error)}
    for name, model in public_models().items():
        if name not in here:
            card = model.card_for(model.builds[0])
            row = {"name": name, "state": "to pull", "task": card.task, "tier": card.tier, "version": card.version}
            yield {**row, "licence": card.licence, "size_bytes": model.builds[0].size_bytes, "accuracy": []}


def _described(entry: Entry) -> dict[str, Any]:
    card, size_bytes = entry.card, entry.path.stat().st_size if entry.path.is_file() else 0
    return {
        "name": card.name,
        "state": "here" if size_bytes else "weights missing",
        "task": card.task,
        "tier": card.tier,
        "version": card.version,
        "licence": card.licence,
        "size_bytes": size_bytes,
        "accuracy": [figure.model_dump() for figure in card.accuracy],
        "directory": str(entry.directory),
        "changes": _changes(entry),
    }


def _changes(entry: Entry) -> dict[str, str]:
    """The simpler form and the shapes that were found here for the network; nothing before it has run."""
    from serving.loading.proofs import read
    from serving.variants.artefacts import folder
    from serving.variants.variant import reference

    kept = read(folder(artefacts_dir(), entry), reference(entry.card.name))
    return {
        change: proof.refused or f"the same to {proof.difference:.1g}"
        for change, proof in kept.found.items()
        if proof.refused or proof.difference is not None
    }


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    """One line for each model, eighty characters wide."""
    table = Table(box=None, collapse_padding=True, pad_edge=False)
    for heading in ("model", "state", "task", "tier"):
        table.add_column(heading, overflow="fold", no_wrap=heading != "model")
    table.add_column("MB", justify="right", no_wrap=True)
    table.add_column("accuracy", no_wrap=True)
    table.add_column("licence", overflow="fold")
    for row in rows:
        megabytes = f"{row['size_bytes'] / 1e6:.1f}" if "size_bytes" in row else ""
        headline = next((_figure(each) for each in row.get("accuracy", ())), "")
        cells = (row.get(key, "") for key in ("task", "tier"))
        table.add_row(
            row["name"], row["state"], *cells, megabytes, headline, row.get("licence", row.get("problem", ""))
        )
    return table


def _figure(each: dict[str, Any]) -> str:
    return f"{each['value']:.3f} {each['metric']}"


def _figures(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Every measured accuracy with what it was measured on, and how a network may be run."""
    for row in rows:
        for each in row.get("accuracy", ()):
            yield f"{row['name']}: {_figure(each)} on {each['dataset']} ({each['split']}), {each['n']} pictures"
        for change, found in row.get("changes", {}).items():
            yield f"{row['name']} {change}: {found}"


def _bars() -> Progress:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = SafeConsole(stderr=True)
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal)


def _fetch(model: PublicModel, target: Path, mirror: str | None, bars: Progress) -> Path:
    task = bars.add_task(model.name, total=model.builds[0].size_bytes)
    try:
        return fetch(model, target, mirror, lambda done, total: bars.update(task, completed=done, total=total))
    finally:
        bars.remove_task(task)
