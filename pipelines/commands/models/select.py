"""``sluice models select``: the variant that meets requirements, without naming one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from pipelines.commands import options
from pipelines.environment import artefacts_dir, catalogue
from pipelines.process.terminal import say


@click.command("select")
@click.argument("names", nargs=-1, required=True, metavar="MODEL…")
@options.models
@click.option("--latency-ms", type=click.FloatRange(min=0, min_open=True), help="At most, for a batch.")
@click.option("--accuracy", type=click.FloatRange(0, 1), default=0.0, help="At least, 0 to 1.")
@click.option("--cost-ms", type=click.FloatRange(min=0, min_open=True), help="At most, device time for an item.")
@click.option("--batch", type=click.IntRange(1, 1024), default=1, show_default=True, help="Items in a batch.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(
    names: tuple[str, ...],
    models: tuple[Path, ...],
    latency_ms: float | None,
    accuracy: float,
    cost_ms: float | None,
    batch: int,
    as_json: bool,
) -> None:
    """Choose among the measured variants of models: the one that is ready soonest of those that meet the requirements.

    Accuracy is that on labelled pictures; without labels it is the agreement with the model as it is.
    """
    known = catalogue(models)
    entries = [known.find(name) for name in dict.fromkeys(names)]
    from pipelines.measure.measured_variants import records
    from serving.selection.select import select
    from serving.selection.table import Requirements, VariantTable

    found, quality = records(entries, artefacts_dir(), batch)
    wanted = Requirements(_seconds(latency_ms), accuracy, _seconds(cost_ms))
    choice = select(wanted, VariantTable(found))
    chosen = next(record for record in found if record.id == choice.variant)
    figures = {"latency_ms": chosen.latency_s * 1e3, quality: chosen.accuracy, "cost_ms": chosen.cost * 1e3}
    if as_json:
        say(json.dumps({"variant": choice.variant, "meets": choice.meets, "reason": choice.reason, **figures}))
    else:
        shown = f"ℓ({batch}) {figures['latency_ms']:.2f} ms, {quality} {chosen.accuracy:.3f}"
        say(f"{choice.variant}\n{shown}, {figures['cost_ms']:.2f} ms of the device per item\n{choice.reason}")
    if not choice.meets:
        raise click.exceptions.Exit(1)


def _seconds(milliseconds: float | None) -> float:
    return math.inf if milliseconds is None else milliseconds / 1e3
