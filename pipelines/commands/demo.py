"""``sluice demo``: a clip of a generated street, analysed, to look at."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.environment import catalogue
from pipelines.process.terminal import say
from pipelines.query.check import open_query
from pipelines.run.jobs.output import make_folder

QUERY = Path(__file__).parents[1] / "run" / "demo.yaml"


@click.command(name="demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out"),
    show_default=True,
    metavar="DIR",
    help="Where the video, the results and the report go.",
)
@click.option("--limit", type=click.IntRange(min=1), help="End after this many frames.")
def command(out: Path, limit: int | None) -> None:
    """Analyse the clip that ships: no broker, no camera, no download.

    It finds and follows what moves, says whether it is a person, a vehicle or something else, and names the type of
    each vehicle, by networks that see only the pixels.
    """
    make_folder(out, parents=True)
    results, video, report = out / "results.jsonl", out / "street.mp4", out / "report.json"
    wanted = open_query(QUERY, catalogue([]))
    from pipelines.run.outputs import Outputs
    from pipelines.run.run_query import run_query  # the engines

    say(f"analysing {wanted.query.streams[0].uri}")
    run_query(wanted, Outputs(str(results), video, report), limit)
    say(f"look at {video}; results are in {results}, the report in {report}")
