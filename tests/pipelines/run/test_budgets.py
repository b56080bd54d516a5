"""A run whose node may cost so much in a day: real networks, a real file."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.environment import catalogue
from pipelines.query.dag import compiled
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.budgets.terms import BudgetReport
from tests.pipelines.queries import DETECT, query
from tests.pipelines.run.test_run_query import lines
from tests.serving.remote.server.running import served

MODELS = ["vehicle-type", "street-kind"]
"""The second is many times cheaper on every machine."""
STREET = {"id": "street", "uri": "synthetic:street?seed=54&duration_s=3&fps=10"}


def run(folder: Path, per_day: str) -> tuple[list[dict[str, Any]], BudgetReport]:
    return ran(folder, MODELS, budget={"per_day": per_day, "price": {"per_processor_s": "0.01 EUR"}})


def ran(
    folder: Path, models: list[str], backends: Any = None, **keys: Any
) -> tuple[list[dict[str, Any]], BudgetReport]:
    kind = {"name": "kind", "task": "recognise", "input": "detect", "model": models, **keys}
    wanted = query(DETECT, kind, slo_ms=5000, streams=[STREET], backends=backends or {})
    outputs = Outputs(str(folder / "r.jsonl"), report=folder / "rep.json")
    report = run_query(compiled(wanted, catalogue([])), outputs)
    assert report.to_builtins()["budgets"] == json.loads((folder / "rep.json").read_text())["budgets"]
    (found,) = report.budgets
    return lines(folder / "r.jsonl"), found


def variants(results: list[dict[str, Any]]) -> set[str]:
    decisions = [result["plan"]["nodes"]["kind"] for result in results]
    return {each["variant"] for each in decisions}


def test_the_cheapest_answers_every_frame_once_nothing_else_is_paid_and_a_restart_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    results, first = run(tmp_path, "0.0000001 EUR")
    assert {each["outcome"] for each in results} == {"analysed"}
    assert "street-kind" in variants(results)
    whys = [each["plan"]["nodes"]["kind"].get("why", "") for each in results]
    assert any(why.startswith("the budget pays vehicle-type for 0 objects") for why in whys)
    assert first.left == 0.0
    assert set(first.spent) <= set(MODELS)
    assert "budget of node kind: " in capsys.readouterr().out
    results, second = run(tmp_path, "0.0000001 EUR")
    assert {each["outcome"] for each in results} == {"analysed"}
    if second.until == first.until:  # not past midnight in between
        for model, cost in second.spent.items():
            known = first.spent_today.get(model, 0.0)
            assert second.spent_today[model] == pytest.approx(known + cost, rel=1e-3)


def test_within_a_budget_that_pays_for_all_the_best_model_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    results, found = run(tmp_path, "1000000 EUR")
    assert variants(results) == {"vehicle-type"}
    assert found.spent["vehicle-type"] > 0
    assert found.left == pytest.approx(1_000_000, rel=1e-3)


@contextmanager
def backend(folder: Path) -> Iterator[int]:
    """A backend of the networks that ship, in a thread; yields its port."""
    begun, over, ports = threading.Event(), asyncio.Event(), list[int]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with served(catalogue([]), folder) as found:
            ports.append(found.port)
            begun.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert begun.wait(60)
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(60)
        loop.close()


def test_a_backend_is_asked_as_often_as_its_day_pays_for_and_a_model_of_this_machine_answers_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    models = ["vehicle-type on gpu", "vehicle-type-compact"]
    with backend(tmp_path / "backend") as port:
        for calls, variant in (("5 calls", "vehicle-type-compact"), ("1000000000 calls", "vehicle-type on gpu")):
            backends = {"gpu": {"url": f"grpc://127.0.0.1:{port}", "budget": {"per_day": calls}}}
            results, found = ran(tmp_path, models, backends)
            assert {each["outcome"] for each in results} == {"analysed"}
            assert variant in variants(results)
            assert found.holder == "backend gpu"
            assert sum(found.spent_today.values()) <= float(calls.split()[0])
        assert found.spent["vehicle-type on gpu"] >= 10
