"""The benchmark of GPUs, as far as it goes without one: its headline, and that it says what it needs."""

from __future__ import annotations

import csv

import pytest

from benchmarks import gpu
from benchmarks.gpu_parts.meters import costs
from benchmarks.harness import RESULTS


def rows() -> list[dict[str, object]]:
    """Those that are committed."""
    with (RESULTS / "gpu.csv").open() as file:
        file.readline()
        return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def number(text: str) -> object:
    try:
        return float(text) if text else None
    except ValueError:
        return text


def test_the_headline_is_what_the_rows_say() -> None:
    found, known = gpu.headline(rows()), rows()
    assert None not in found.values()
    pairs = [
        [row["latency_ms"] for row in known if (row["name"], row["size"], row["way"]) == ("resnet50", 64.0, way)]
        for way in ("gpu fp32", "gpu fp16")
    ]
    assert found["fp16_64"] == pytest.approx(float(str(pairs[0][0])) / float(str(pairs[1][0])), abs=1e-3)
    assert set(found) == {line.split("``")[1] for line in (gpu.__doc__ or "").splitlines() if line.startswith("- ")} | {
        "over_plain_16",
        "tf32_64",
    }
    assert gpu.headline([]) == dict.fromkeys(found)


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "why_not_on_gpu", lambda: "no NVIDIA driver tells of a GPU")
    with pytest.raises(SystemExit, match=r"^benchmarks.gpu needs a GPU: no NVIDIA driver tells of a GPU$"):
        gpu.measure(quick=True)


def test_costs_are_those_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    found = costs(lambda: asked.append(1), 0.0).row(4)
    assert len(asked) >= 5
    assert (found["gpu_joules_per_item"], set(found) < set(gpu.COLUMNS)) == (None, True)
    monkeypatch.setattr("benchmarks.gpu_parts.meters.joules_so_far", iter((10.0, 20.0)).__next__)
    joules = costs(lambda: None, 0.0).row(1)["gpu_joules_per_item"]
    assert 0 < joules <= 10 / 5
