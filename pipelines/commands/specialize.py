"""``sluice specialize``: the templates that recognisers are specialised with, and how well their heads do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from pipelines.commands import options
from pipelines.environment import catalogue, template_dirs
from pipelines.measure.prospects import why_not
from pipelines.process.safe_console import SafeConsole
from pipelines.process.suggesting import SuggestingGroup
from pipelines.process.terminal import say
from pipelines.process.work_bar import work_bar
from pipelines.query.query_file import DEFAULT_ACCURACY
from serving.catalogue.lookup import Catalogue, search_path
from serving.errors import ModelError

if TYPE_CHECKING:
    from specialization.templates.stored import StoredTemplate


@click.group("specialize", cls=SuggestingGroup)
def command() -> None:
    """Make and list the templates that recognisers are specialised with."""


@command.command("profile")
@click.argument("oracle")
@click.option("--template", "names", multiple=True, metavar="MODEL", help="A compact classifier; repeatable.")
@options.models
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Pictures such as the camera's crops, in folders of any depth; no labels needed.  [default: drawn crops]",
)
@click.option("--again", is_flag=True, help="Forward the pictures anew, even if they are the same as before.")
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1),
    default=DEFAULT_ACCURACY,
    show_default=True,
    help="Say whether heads can be used at this accuracy.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of tables.")
def profile(
    oracle: str,
    names: Sequence[str],
    models: tuple[Path, ...],
    data: Path | None,
    again: bool,
    accuracy: float,
    as_json: bool,
) -> None:
    """Make templates for a classifier from pictures that it labels itself, and measure how well heads do.

    Templates come from the compact classifiers with the same classes, and from the first layers of ORACLE.
    """
    known = catalogue(models)
    entry = known.find(oracle)
    from pipelines.measure.template_data import Shown
    from pipelines.measure.template_making import TemplateRequest, compact_models, make

    compacts = compact_models(entry, known, names)
    wanted = TemplateRequest(Shown.of(data), template_dirs()[0], again)
    with work_bar(oracle) as report:
        made = make(entry, compacts, wanted, report)
    if as_json:
        say(json.dumps([_plain(each) for each in made], indent=2))
        return
    for each in made:
        manifest = each.manifest
        say(f"{each.name}: {manifest.cost:.0%} of the latency of {manifest.oracle}; {manifest.data}")
        SafeConsole().print(_rates(each))
    say(why_not(made, accuracy) or f"heads can be used at accuracy {accuracy:g}")


@command.command("list")
@options.models
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of lines.")
def list_templates(models: tuple[Path, ...], as_json: bool) -> None:
    """Show the templates that are here: the user's and those that ship.

    With --models only those of the classifiers in these directories, and which of them have none yet.
    """
    from specialization.templates.stored import all_templates

    rows = [_row(each) for each in all_templates(template_dirs())]
    if models:
        rows = list(_of_models(search_path(models)[: len(models)], rows))
    if as_json:
        say(json.dumps(rows, indent=2))
        return
    for row in rows:
        say(
            row.get("problem")
            or "{template}: {samples} samples for {oracle}, at {cost} of its cost; {data}".format(**row)
        )


def _of_models(directories: Sequence[Path], rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of the classifiers in these directories; for one that has no template, what makes one."""
    known = Catalogue(directories)
    for name, directory in known.names().items():
        if known.find(name).card.task != "classify":
            continue
        own = [row for row in rows if row.get("oracle") == name]
        make = f"`sluice specialize profile {name} --models {directory.parent}`"
        yield from own or [{"oracle": name, "problem": f"{name}: no template yet: {make} makes one"}]


def _row(template: StoredTemplate | ModelError) -> dict[str, Any]:
    if isinstance(template, ModelError):
        return {"problem": str(template)}
    manifest = template.manifest
    return {
        "template": template.name,
        "oracle": manifest.oracle,
        "network": manifest.network,
        "cost": round(manifest.cost, 3),
        "cost_is": manifest.cost_is,
        "samples": _samples(template),
        "data": manifest.data or "nothing yet",
        "directory": str(template.directory),
    }


def _samples(template: StoredTemplate) -> int:
    from learning.store import FeatureStore

    return len(FeatureStore.open(template.directory).labels) if template.has_store else 0


def _plain(template: StoredTemplate) -> dict[str, Any]:
    import msgspec

    return {**_row(template), "measured": msgspec.to_builtins(template.measured, str_keys=True)}


def _rates(template: StoredTemplate) -> Table:
    """One row for each number of classes, one column of three rates for each tolerance."""
    table = Table(box=None, collapse_padding=True, pad_edge=False)
    for heading in ("classes", "wrong at most", "a_in", "e_in→out", "a_out"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cells in _cells(template):
        table.add_row(*cells)
    return table


def _cells(template: StoredTemplate) -> Iterator[list[str]]:
    for n in sorted({n for each in template.measured for n in each.rates}):
        for each in template.measured:
            rates = each.rates[n]
            yield [
                str(n),
                f"{each.tolerance:.1%}",
                *(f"{rate:.2f}" for rate in (rates.a_in, rates.e_in_out, rates.a_out)),
            ]
