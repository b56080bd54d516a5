"""``sluice models crops``: the objects of a recording as pictures, to be sorted and learnt from."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.process.clicks import Number
from pipelines.process.terminal import say
from serving.errors import BadInput


@click.command("crops")
@click.argument("recording", metavar="RECORDING", type=click.Path(path_type=Path))
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), required=True, help="A new or empty folder.")
@click.option("--attribute", metavar="NAME", help="Sort by this answer of a recogniser.  [default: the object's label]")
@click.option(
    "--margin",
    type=Number(0, 1),
    default=0.08,
    show_default=True,
    help="Share of a box that is added on every side; the shipped recognisers' is the default.",
)
@click.option("--per-track", type=click.IntRange(1, 100), default=4, show_default=True, help="Most crops of an object.")
@click.option("--apart-s", type=Number(min=0), default=1.0, show_default=True, help="Seconds between these.")
def command(recording: Path, into: Path, attribute: str | None, margin: float, per_track: int, apart_s: float) -> None:
    """Cut the tracked objects out of what --record has kept, into folders by what was said of them.

    Move the crops that lie in the wrong folder; then `sluice models train` learns from the folders.
    """
    from pipelines.observe.record.crops import WantedCrops, save_crops

    saved = save_crops(recording, into, WantedCrops(attribute, margin, per_track, apart_s))
    if not saved.by_folder:
        raise BadInput(f"{recording}: no tracked objects in it that are large enough; record a query with a track node")
    for folder, count in sorted(saved.by_folder.items()):
        say(f"{folder}: {count}")
    if saved.unreadable:
        say(f"{saved.unreadable} frames cannot be read and are left out", err=True)
    if saved.full:
        say(f"there are more: {saved.by_folder.total()} crops are the most", err=True)
    say(f"{saved.by_folder.total()} crops in {into}: move those that lie in the wrong folder, then train")
