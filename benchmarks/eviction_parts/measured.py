"""What loading a network costs on this machine: every architecture with random weights, and the networks that ship.

``python -m benchmarks.eviction_parts.measured`` rewrites ``measured.csv``, which the simulation reads.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.harness import interleaved, write_csv
from serving.profiling.footprint import Footprint, footprint
from serving.variants.variant import Variant

MEASURED = Path(__file__).parent / "measured.csv"
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One network in ONNX Runtime."""

    network: str
    file_bytes: int
    size_bytes: int
    """Resident memory after a run of one image."""
    load_s: float
    """Opening it and running one image."""


def read(path: Path = MEASURED) -> list[Measured]:
    """The committed measurements."""
    with path.open(newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            Measured(row["network"], int(row["file_bytes"]), int(row["size_bytes"]), float(row["load_s"]))
            for row in rows
        ]


def measure(files: Sequence[Path], rounds: int) -> list[Measured]:
    """Load every file so often, each time in a process of its own and in an order drawn anew; medians."""
    threads = len(os.sched_getaffinity(0))
    found = interleaved({file: partial(_load, file, threads) for file in files}, rounds)
    return [_middle(file, loads) for file, loads in found.items()]


def _load(file: Path, threads: int) -> Footprint:
    return footprint(Variant(file.stem, "onnxruntime", "fp32", None), file, threads, batch=1)


def _middle(file: Path, loads: Sequence[Footprint]) -> Measured:
    size_bytes = round(median(load.memory_bytes for load in loads))
    load_s = round(median(load.load_s for load in loads), 5)
    return Measured(file.stem, file.stat().st_size, size_bytes, load_s)


def exported(folder: Path) -> Iterator[Path]:
    """Every architecture as an ONNX file with random weights, and those that ship."""
    import torch

    from serving.catalogue.lookup import SHIPPED
    from tools.architectures.export import export
    from tools.architectures.registry import ARCHITECTURES

    torch.manual_seed(0)
    for name, architecture in ARCHITECTURES.items():
        path = folder / f"{name}.onnx"
        export(architecture.build(architecture.classes), path, architecture.size)
        yield path
    for model in sorted(SHIPPED.glob("*/model.onnx")):
        path = folder / f"{model.parent.name}.onnx"
        path.write_bytes(model.read_bytes())
        yield path


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as chosen:
        write_csv(MEASURED, [asdict(each) for each in measure(list(exported(Path(chosen))), ROUNDS)])
