"""``sluice caches``: learned caches inside a classifier, explored, composed and built from pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from pipelines.commands import options
from pipelines.environment import artefacts_dir, catalogue
from pipelines.process.extras import need
from pipelines.process.safe_console import SafeConsole
from pipelines.process.terminal import say
from pipelines.process.work_bar import work_bar

if TYPE_CHECKING:
    from cache_adapt.caches.explore import Explored
    from cache_adapt.caches.store import Card
    from pipelines.measure.cache_building import CacheReport

TARGET = 0.97
WIDTH = 150
"""Columns of the table: a name that is cut off cannot be looked up."""


@click.group("caches")
def command() -> None:
    """Build learned caches, which answer for easy inputs before a model's last layer."""


@command.command("build")
@click.argument("model")
@options.models
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Pictures such as the camera's crops, in folders of any depth; no labels needed.  [default: drawn crops]",
)
@click.option(
    "--target",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=TARGET,
    show_default=True,
    help="The least share of the caches' answers that must be the model's.",
)
@click.option("--again", is_flag=True, help="Explore anew what an earlier build has explored on the same pictures.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="PNG", help="Draw shares of inputs by their latency.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
def build(
    model: str,
    models: tuple[Path, ...],
    data: Path | None,
    target: float,
    again: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Build caches for the classifier MODEL, if they make it faster than any of its variants.

    Every form of cache is tried at every cut point of MODEL and of its fastest variant that keeps the target. The build
    can be interrupted: it goes on where it was. Times are processor times of one item on one thread, measured here and
    now.
    """
    if plot is not None:
        need("matplotlib")
    entry = catalogue(models).find(model)
    from pipelines.measure.cache_building import CacheBuildRequest, build_caches
    from pipelines.measure.template_data import Shown

    order = CacheBuildRequest(Shown.of(data), target, artefacts_dir(), again)
    with work_bar(model) as report:
        found = build_caches(entry, order, report)
    if plot is not None:
        from pipelines.report.plots.networks import save_caches

        save_caches(plot, found)
    if as_json:
        say(json.dumps(_plain(model, found), indent=2))
        return
    table = SafeConsole()
    table.width = max(table.width, WIDTH)
    for network, explored in found.explored.items():
        table.print(_table(network, explored))
    for line in _lines(model, found):
        say(line)
    if found.kept:
        say(f"caches that `sluice adapt` makes learn from {found.kept} of these pictures too")


def _lines(model: str, found: CacheReport) -> list[str]:
    lines = [
        f"{variant.name}: {1e3 * variant.problem.whole:.2f} ms, agrees in {variant.agreement:.1%} at least"
        for variant in found.variants
    ]
    built = found.built.caches
    if built is None:
        instead = "nothing is built" if found.plan.variant == model else f"nothing is built; run {found.plan.variant}"
        return [*lines, f"{found.plan.reason}: {instead}"]
    places = ", ".join(f"{each.architecture} at {each.tensor} {each.hit_rate:.0%}" for each in built.card.caches)
    lines += [_speed(model, found, built.card), f"answered by {places}"]
    if built.card.model != model:
        left = 1 - sum(each.hit_rate for each in built.card.caches)
        lines.append(f"{built.card.model} answers for the other {left:.0%}; {found.left_agreement:.1%} of that agrees")
        lines.append(f"used by nodes with caches: true that list {built.card.model}")
    return [*lines, f"written to {found.file}"]


def _speed(model: str, found: CacheReport, card: Card) -> str:
    took_s = found.built.latency_s
    said = f"caches over {card.model}: {1e3 * took_s:.2f} ms, {card.speedup:.2f} times as fast as {card.model}"
    return said if card.model == model else f"{said}, {found.whole_s / took_s:.2f} times as fast as {model}"


def _table(network: str, explored: Sequence[Explored]) -> Table:
    table = Table(title=f"caches over {network}", title_justify="left", box=None)
    for heading in ("tensor", "cache", "score", "hits", "of them right", "lookup, ms", "KB"):
        table.add_column(heading, justify="left" if heading in ("tensor", "cache", "score") else "right", no_wrap=True)
    for each in explored:
        point = each.points[0]
        score = "selector" if each.selector else "largest"
        figures = f"{point.hit_rate:.1%}", f"{point.accuracy:.1%}", f"{1e3 * each.lookup_s:.3f}"
        table.add_row(each.tensor, each.architecture, score, *figures, f"{each.memory_bytes / 1024:.0f}")
    return table


def _plain(model: str, found: CacheReport) -> dict[str, Any]:
    import msgspec

    built = found.built.caches
    return {
        "model": model,
        "runs": found.plan.variant,
        "reason": found.plan.reason,
        "whole_ms": round(1e3 * found.whole_s, 4),
        "expected_ms": round(1e3 * found.plan.latency, 4),
        "expected_agreement": round(found.agreement, 4),
        "caches": [msgspec.to_builtins(each) for each in built.card.caches] if built else [],
        "variants": [
            {"variant": each.name, "ms": round(1e3 * each.problem.whole, 4), "agreement": round(each.agreement, 4)}
            for each in found.variants
        ],
        "explored": [
            {"network": network, **msgspec.to_builtins(each)}
            for network, explored in found.explored.items()
            for each in explored
        ],
        "file": None if found.file is None else str(found.file),
        "kept_pictures": found.kept,
    }
