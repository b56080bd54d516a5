"""``sluice models split``: where a network can be cut, what lies before each cut, and the pieces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.measure import Measurement
from rich.table import Table

from pipelines.commands import options
from pipelines.environment import catalogue
from pipelines.process.safe_console import SafeConsole
from pipelines.process.terminal import say
from serving.catalogue.lookup import verify
from serving.errors import BadInput, ModelError

if TYPE_CHECKING:
    import onnx

    from serving.graphs.cut_points import CutPoint

BUDGET_S = 3.0
"""Seconds for which the segments are timed."""


@click.command("split")
@click.argument("model")
@options.models
@click.option("--all", "everything", is_flag=True, help="Every cut vertex, also between a layer and its activation.")
@click.option("--at", "cuts", multiple=True, metavar="TENSOR", help="Cut here only; repeatable, in dataflow order.")
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), help="Write the segments between --at here.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def command(
    model: str, models: tuple[Path, ...], everything: bool, cuts: Sequence[str], into: Path | None, as_json: bool
) -> None:
    """Show where a network can be cut, with the share of its work and of its latency that lies before.

    MODEL is a name, as `sluice models list` shows it, or an .onnx file. Latency is measured here and now, one item at a
    time in ONNX Runtime.
    """
    if into is not None and not cuts:
        raise BadInput("--into writes the segments between cuts: name the cuts with --at TENSOR")
    from serving.graphs.cut_points import all_cut_points, cut_points
    from serving.graphs.segments import split

    name, network = _read(model, models)
    points = all_cut_points(network) if everything or cuts else cut_points(network)
    segments = split(network, cuts or [point.tensor for point in points])
    chosen = [point for point in points if not cuts or point.tensor in cuts]
    report = _report(name, chosen, segments)
    files = _write(segments, into, name) if into is not None else []
    if as_json:
        say(json.dumps({**report, "files": files}, indent=2))
        return
    _print(report)
    for file in files:
        say(file)


def _read(model: str, models: tuple[Path, ...]) -> tuple[str, onnx.ModelProto]:
    """A network by name or by file; its input as large as the card says where the graph leaves it open."""
    import onnx

    from serving.catalogue.lookup import read_weights
    from serving.common.explain import first_line

    if not model.endswith(".onnx"):
        entry = catalogue(models).find(model)
        verify(entry)
        return model, read_weights(entry.path, entry.card)
    try:
        return Path(model).stem, onnx.load(model)
    except Exception as error:  # protobuf's and the file system's exceptions share no base but Exception
        raise ModelError(f"{model}: cannot be opened: {first_line(error)}") from error


def _report(name: str, points: Sequence[CutPoint], segments: Sequence[onnx.ModelProto]) -> dict[str, Any]:
    from serving.common.threads import usable_cores
    from serving.profiling.timing import segment_times

    threads = usable_cores()
    until = list(accumulate(segment_times(name, segments, threads, BUDGET_S)))
    cuts = [
        {
            "tensor": point.tensor,
            "shape": point.shape,
            "multiply_adds": point.flops,
            "share": round(point.share, 4),
            "latency_share": round(seconds / until[-1], 4),
        }
        for point, seconds in zip(points, until, strict=False)
    ]
    return {"model": name, "cut_points": cuts, "latency_ms": round(until[-1] * 1000, 3), "threads": threads}


def _write(segments: Sequence[onnx.ModelProto], into: Path, name: str) -> list[str]:
    import onnx

    files = [into / f"{name}-{index}.onnx" for index in range(len(segments))]
    try:
        into.mkdir(parents=True, exist_ok=True)
        for file, segment in zip(files, segments, strict=True):
            onnx.save(segment, file)
    except OSError as error:
        raise BadInput(f"--into {into}: cannot be written ({error.strerror})") from None
    return [str(file) for file in files]


def _print(report: dict[str, Any]) -> None:
    table = Table(box=None)
    for heading in ("tensor", "shape", "M multiply-adds", "share", "latency"):
        table.add_column(heading, justify="left" if heading == "tensor" else "right", no_wrap=True)
    for point in report["cut_points"]:
        shape = " × ".join(["N", *("any" if dim is None else str(dim) for dim in point["shape"][1:])])
        cost = f"{point['multiply_adds'] / 1e6:.1f}", f"{point['share']:.1%}", f"{point['latency_share']:.1%}"
        table.add_row(point["tensor"], shape, *cost)
    console = SafeConsole()
    # A name that is broken or cut off cannot be given to --at.
    whole = Measurement.get(console, console.options.update(max_width=1000), table).maximum
    console.width = max(console.width, whole)
    console.print(table)
    segments, threads = len(report["cut_points"]) + 1, report["threads"]
    say(f"{report['model']}: {report['latency_ms']:.2f} ms in {segments} segments, {threads} threads")
