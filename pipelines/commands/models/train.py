"""``sluice models train``: a folder of crops becomes a recogniser."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from pipelines.commands import options
from pipelines.environment import artefacts_dir, catalogue
from pipelines.process.clicks import Number
from pipelines.process.extras import need
from pipelines.process.safe_console import SafeConsole, work_bar
from pipelines.process.terminal import say
from pipelines.settings import model_dirs
from serving.catalogue.cards import NAME
from serving.catalogue.lookup import Catalogue, user_models
from serving.errors import BadInput, ModelError, SluiceError

if TYPE_CHECKING:
    from serving.variants.contest import Contest
    from specialization.kit.crops import Crops
    from specialization.kit.recogniser import RecogniserDraft

BASE = "vehicle-type"
RIGHT = 0.9
MOST_NOTES = 5


@click.command("train")
@click.argument("name")
@click.option(
    "--from",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="Crops in one folder for each class: DIR/car/*.jpg, DIR/bus/*.jpg, and DIR/other/*.jpg for none of these.",
)
@click.option("--base", default=BASE, show_default=True, help="The classifier whose features are used.")
@options.models
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), help="Where to put it. Default: the user's.")
@click.option(
    "--right",
    type=Number(0.5, 0.99),
    default=RIGHT,
    show_default=True,
    help="Share of its names that shall be right; what is less sure is `unknown`.",
)
@click.option("--frozen", is_flag=True, help="Leave all features as they are: faster, and without PyTorch.")
@click.option("--threads", type=click.IntRange(1, 64), help="Of the processor.  [default: all that may be used]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a report.")
def command(
    name: str,
    folder: Path,
    base: str,
    models: tuple[Path, ...],
    into: Path | None,
    right: float,
    frozen: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Make a recogniser NAME of a folder of crops; a query then uses it with `model: NAME`.

    It is measured on cameras, or tracks, that it has not learnt from, where the names of the crops tell these:
    CAMERA_TRACK_NUMBER.jpg, as `sluice models crops` writes them.
    """
    if not frozen:
        need("torch")
    target = into or next(iter(model_dirs()), user_models())
    _check(name, folder, target)
    entry = catalogue(models).find(base)
    from pipelines.measure.labelled_crops import labelled_crops
    from serving.common.threads import usable_cores
    from specialization.kit import recogniser

    crops = labelled_crops(folder)
    wanted = recogniser.RecogniserRequest(name, right, threads or usable_cores(), tune=not frozen)
    with recogniser.place(target) as scratch, work_bar(name) as report:
        made = recogniser.make(entry, crops, wanted, report)
        path = recogniser.write(made, scratch)
        report("variants", 0.0)
        contest = _contest(Catalogue([target]), name, crops, made.notes)
    made.notes[:0] = _few(crops.notes)
    if as_json:
        say(json.dumps(_plain(made, contest, path), indent=2))
    else:
        _tell(made, contest, path)


def _check(name: str, folder: Path, target: Path) -> None:
    """Before the work, not after it."""
    if NAME.fullmatch(name) is None:
        raise BadInput(f"{name!r} cannot be a model's name: small letters, digits, '.', '_' and '-', at most 80")
    if (target / name).exists():
        raise ModelError(f"{target / name} exists: remove it, or give the model another name")
    if not folder.is_dir():
        raise BadInput(f"--from {folder}: no such folder")


def _contest(known: Catalogue, name: str, crops: Crops, notes: list[str]) -> Contest | None:
    """Compare the variants of a recogniser on its crops, as `sluice learn` does on a recording."""
    from pipelines.measure.stand_ins.contest_job import held_on
    from pipelines.measure.stand_ins.shown import LEARNT, ShownItems
    from serving.preprocess import batch

    entry, shown = known.find(name), ShownItems(random.Random(0), LEARNT)
    try:
        for image in crops.images:
            shown.ran(batch(entry.card.input, [image])[0], None)
        return held_on(known, entry, shown, artefacts_dir())
    except SluiceError as error:
        notes.append(f"{name}: its variants are not compared: {error}")
        return None


def _few(notes: Sequence[str]) -> list[str]:
    more = len(notes) - MOST_NOTES
    return [*notes] if more <= 0 else [*notes[:MOST_NOTES], f"{more} more such lines"]


def _tell(made: RecogniserDraft, contest: Contest | None, path: Path) -> None:
    for note in made.notes:
        say(note, err=True)
    held, card = made.held_out, made.card
    from pipelines.measure.stand_ins.roles import prospect
    from pipelines.query.query_file import DEFAULT_ACCURACY
    from specialization.kit.report import SPLITS

    say(f"{card.name}: {len(held.truth)} crops held out, {SPLITS[held.unit]}")
    say(f"likeliest class right {held.accuracy:.3f}, mean of the classes {held.balanced:.3f}")
    say(f"named {held.coverage:.3f}, of these right {held.right:.3f}; less sure than {card.min_confidence} is unknown")
    SafeConsole().print(_table(made))
    if contest is not None:
        say(prospect(card.name, contest, DEFAULT_ACCURACY))
    say(f"written to {path}: use it with 'model: {card.name}'")


def _table(made: RecogniserDraft) -> Table:
    """A row for each class."""
    table = Table(title="is → was called", title_justify="left", box=None, collapse_padding=True, pad_edge=False)
    table.add_column("", overflow="fold")
    for heading in (*made.held_out.classes, "unknown"):
        table.add_column(heading, justify="right", overflow="fold")
    for name, row in zip(made.held_out.classes, made.held_out.confusion().tolist(), strict=True):
        table.add_row(name, *map(str, row))
    return table


def _plain(made: RecogniserDraft, contest: Contest | None, path: Path) -> dict[str, Any]:
    import msgspec

    held = made.held_out
    return {
        "model": made.card.name,
        "directory": str(path),
        "classes": list(held.classes),
        "held_out": held.unit,
        "crops": len(held.truth),
        "accuracy": round(held.accuracy, 4),
        "balanced_accuracy": round(held.balanced, 4),
        "named": round(held.coverage, 4),
        "right_of_named": round(held.right, 4),
        "temperature": made.card.temperature,
        "min_confidence": made.card.min_confidence,
        "confusion": held.confusion().tolist(),
        "contest": msgspec.to_builtins(contest),
        "notes": made.notes,
    }
