"""``sluice models profile``: what every way to run a model costs here, and how far its answers agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from pipelines.commands import options
from pipelines.environment import artefacts_dir, catalogue
from pipelines.process.clicks import Number
from pipelines.process.safe_console import SafeConsole, work_bar
from pipelines.process.terminal import say
from pipelines.settings import device
from serving.common.explain import choices
from serving.common.precision import PRECISIONS

if TYPE_CHECKING:
    from pipelines.measure.profile_models import ProfiledModel
    from serving.variants.profiles import Profile

ENGINES = ("onnxruntime", "openvino")
"""Those that run the catalogue's ONNX files."""


class Words(click.ParamType):
    """A list of allowed words, joined by commas."""

    name = "words"

    def __init__(self, allowed: Sequence[str]) -> None:
        self.allowed = allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The words, each once."""
        words = tuple(dict.fromkeys(part.strip() for part in value.split(",")))
        for word in words:
            if word not in self.allowed:
                self.fail(f"unknown {word!r}{choices(word, self.allowed)}", param, ctx)
        return words


@click.command("profile")
@click.argument("names", nargs=-1, required=True, metavar="MODEL…")
@options.models
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR|VIDEO",
    help="Pictures to calibrate and compare on, best in one folder per class.  [default in a checkout: drawn ones]",
)
@click.option("--engines", type=Words(ENGINES), default=",".join(ENGINES), show_default=True)
@click.option("--precisions", type=Words(PRECISIONS), default=",".join(PRECISIONS), show_default=True)
@click.option("--max-batch", type=click.IntRange(1, 1024), help="[default: 16, on a GPU 64]")
@click.option(
    "--budget-s",
    type=Number(min=0.1),
    default=60.0,
    show_default=True,
    help="Time for latencies, of each model.",
)
@click.option("--again", is_flag=True, help="Build and measure anew what is known already.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of tables.")
def command(names: Sequence[str], models: tuple[Path, ...], data: Path | None, as_json: bool, **given: Any) -> None:
    """Measure the variants of models on this machine: engines, precisions, input sizes.

    A dot marks those that no other beats in latency and quality at once. Profiles are kept, and reused until the
    machine, the engine, the model or the data change.
    """
    entries = [catalogue(models).find(name) for name in dict.fromkeys(names)]
    from pipelines.measure.profile_models import ProfileRequest, measure
    from serving.engines.execution_device import max_batch, use

    use(*device())
    given["max_batch"] = given["max_batch"] or max_batch()

    found = []
    for entry in entries:
        with work_bar(entry.card.name) as report:
            found.append(measure(entry, artefacts_dir(), data, ProfileRequest(**given), report))
    for note in (note for each in found for note in each.notes):
        say(note, err=True)
    if as_json:
        say(json.dumps([_plain(each) for each in found], indent=2))
    else:
        for each in found:
            SafeConsole().print(_table(each))


def _plain(known: ProfiledModel) -> dict[str, Any]:
    import msgspec

    pairs = zip(known.profiles, known.pareto(), strict=True)
    variants = [{**msgspec.to_builtins(profile, str_keys=True), "pareto": best} for profile, best in pairs]
    return {"model": known.model, "variants": variants, "reused": known.reused, "notes": known.notes}


def _table(known: ProfiledModel) -> Table:
    items = f"{known.profiles[0].items} items of {known.profiles[0].data}" if known.profiles else "nothing measured"
    table = Table(
        title=f"{known.model}: {items}", title_justify="left", box=None, collapse_padding=True, pad_edge=False
    )
    for heading in ("", "variant", "ℓ(1) ms", "ℓ(8) ms", "items/s", "MB", "load s", "accuracy", "agrees"):
        table.add_column(heading, justify="left" if heading == "variant" else "right", no_wrap=True)
    for profile, best in zip(known.profiles, known.pareto(), strict=True):
        table.add_row("•" if best else "", profile.variant.partition("@")[2], *_cells(profile))
    return table


def _cells(profile: Profile) -> list[str]:
    eight = profile.latency_s.get(8)
    return [
        f"{profile.latency_s[1] * 1e3:.2f}",
        "" if eight is None else f"{eight * 1e3:.2f}",
        f"{max(size / seconds for size, seconds in profile.latency_s.items()):.0f}",
        f"{profile.memory_bytes / 1e6:.0f}",
        f"{profile.load_s:.2f}",
        "" if profile.accuracy is None else f"{profile.accuracy:.3f}",
        f"{profile.agreement:.3f}",
    ]
