"""A run of ``sluice run`` as benchmarks read it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.run_parts import sluice_run as runs
from benchmarks.run_parts.sluice_run import Run, sluice_run

STREET = "synthetic:street?seed=3&duration_s=5&fps=10"
DETECT = {"name": "detect", "task": "detect", "model": "motion"}
QUERY = {"version": 1, "name": "run", "slo_ms": 60_000, "nodes": [DETECT]}


def test_a_run_tells_its_results_its_report_and_what_it_took(tmp_path: Path) -> None:
    run = sluice_run(tmp_path, QUERY, "--source", STREET, "--limit", "3")
    assert [line["seq"] for line in run.lines] == [0, 1, 2]
    assert run.report["frames"]["analysed"] == 3
    assert run.cpu_s > 0.1
    assert 0 < run.node_s("detect") < run.wall_s


def test_a_node_that_did_not_run_took_no_time() -> None:
    lines: list[dict[str, Any]] = [{"plan": {"stages_ms": {"type": 1500.0}}}, {"plan": {"stages_ms": {}}}]
    run = Run(2.0, 3.0, lines, {})
    assert (run.node_s("type"), run.node_s("other")) == (1.5, 0.0)


def test_a_run_knows_nothing_of_what_the_user_has_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE", "theirs")
    told: list[tuple[str, bool]] = []

    def processor_s(command: Sequence[str], environment: Mapping[str, str]) -> float:
        told.append((environment["SLUICE_CACHE"], list(command[-2:]) == ["--limit", "1"]))
        (tmp_path / "results.jsonl").touch()
        (tmp_path / "report.json").write_text("{}")
        return 1.0

    monkeypatch.setattr(runs, "processor_s", processor_s)
    for query in (QUERY, QUERY, {**QUERY, "name": "other"}):
        sluice_run(tmp_path, query)
    assert {cache for cache, _ in told} == {str(tmp_path / "cache")}
    assert [over_one_frame for _, over_one_frame in told] == [True, False, False, True, False]


def test_a_command_takes_its_environment_and_its_failure_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asks = [sys.executable, "-c", "import os, sys; sys.exit(os.environ['SLUICE_CACHE'] != 'mine')"]
    monkeypatch.setenv("SLUICE_CACHE", "theirs")
    assert runs.processor_s(asks, runs.own_cache(Path("mine"))) > 0
    with pytest.raises(subprocess.CalledProcessError):
        runs.processor_s(asks)
