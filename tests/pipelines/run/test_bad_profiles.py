"""Runs with measurements that no plan can be made of: a line says so, and every frame is answered all the same."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.assembly import planners
from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.variants.timings import store
from serving.variants.variant import parse

LARGE, SMALL = "vehicle-type", "vehicle-type-compact"
NODES = [
    {"name": "detect", "task": "detect", "model": "motion"},
    {"name": "type", "task": "recognise", "input": "detect", "model": [LARGE, SMALL]},
]
STREET = "synthetic:street?seed=5&duration_s=3&fps=5&width=320&height=180"


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """What was measured of both models on this machine: files, by model."""
    cache, files = tmp_path / "cache", dict[str, Path]()
    monkeypatch.setenv("SLUICE_CACHE", str(cache))
    for model, seconds in ((LARGE, 2.0), (SMALL, 1.5)):
        store({1: seconds}, catalogue([]).find(model), parse(model), cache)
        (files[model],) = cache.glob(f"variants/{model}-{'?' * 12}/*.times.json")
    return files


def run(folder: Path, slo_ms: int) -> list[dict[str, Any]]:
    """The results of all frames."""
    streams = [{"id": "cam", "uri": STREET}]
    query = Query.model_validate({"version": 1, "name": "q", "slo_ms": slo_ms, "streams": streams, "nodes": NODES})
    run_query(compiled(query, catalogue([])), Outputs(str(folder / "out.jsonl")))
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_an_slo_that_no_model_meets_is_told_and_a_policy_decides(
    tmp_path: Path, measured: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        results = run(tmp_path, slo_ms=500)
    said = f"type: the fastest model, {SMALL}, takes 1500.0 ms for one object, 1000.0 ms more than slo_ms leaves it"
    assert caplog.text.count(said) == 1
    assert {each["outcome"] for each in results} == {"analysed"}
    looked = [plan for each in results if (plan := each["plan"]["nodes"]["type"]).get("objects")]
    assert looked
    assert looked[0]["cause"] == "cheapest"  # then it is known what they take
    assert all(found["attributes"] for each in results for found in each["objects"])


def of_another_machine(data: bytes) -> bytes:
    found = json.loads(data)
    found["fingerprint"]["cores"] += 7
    return json.dumps(found).encode()


def not_a_number(data: bytes) -> bytes:
    return data.replace(b"1.5", b"NaN")


async def never(*_: object) -> dict[int, float]:
    """A measurement in the background that the run does not live to see."""
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (of_another_machine, r"what was measured of vehicle-type-compact@onnxruntime-fp32 holds no more (cores: was "),
        (not_a_number, "not what was measured (JSON is malformed"),
    ],
)
def test_measurements_that_cannot_be_used_are_told_and_not_planned_with(
    tmp_path: Path,
    measured: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    spoil: Callable[[bytes], bytes],
    said: str,
) -> None:
    measured[SMALL].write_bytes(spoil(measured[SMALL].read_bytes()))
    monkeypatch.setattr(planners, "quiet_times", never)
    with caplog.at_level(logging.WARNING):
        results = run(tmp_path, slo_ms=60_000)
    assert caplog.text.count(said) == 1
    assert {each["outcome"] for each in results} == {"analysed"}
    looked = [plan for each in results if (plan := each["plan"]["nodes"]["type"]).get("objects")]
    assert looked
    assert {plan["variant"] for plan in looked} == {LARGE}
    assert all(set(plan["expected_ms"]) == {LARGE} for plan in looked)
