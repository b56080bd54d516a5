"""How budgets stand, wherever it is told: in the report, in metrics, on the page, by ``sluice explain``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry

from operators.wire.schema import Result, from_json, to_json
from pipelines.commands.recorded.explain import command
from pipelines.observe.live.board import Board
from pipelines.observe.metrics.recorder import MetricsRecorder
from pipelines.report.recorded import budgets
from pipelines.report.run_counts import RunCounts
from pipelines.report.text import render
from serving.budgets.terms import BudgetReport
from serving.errors import BadInput

GOLDEN = Path(__file__).parents[2] / "golden" / "result-replanned.json"
UNTIL = "2026-06-02T00:00:00+00:00"
REPORT = BudgetReport(
    "node type", "EUR", 5.0, {"large on gpu": 0.25}, {"small": 0.1, "large on gpu": 1.25}, 3.65, UNTIL
)
LINE = (
    "budget of node type: 1.35 EUR of 5 EUR spent today (large on gpu 1.25 EUR, small 0.1 EUR); "
    "3.65 EUR left until 2026-06-02 00:00"
)


def test_a_line_says_what_was_spent_on_what_and_what_is_left() -> None:
    assert str(REPORT) == LINE
    nothing = BudgetReport("backend gpu", "B", 2.0**31, {}, {}, 2.0**31, UNTIL)
    assert str(nothing).startswith("budget of backend gpu: 0 B of 2 GiB spent today; 2 GiB")


def test_the_latest_is_in_the_report_and_on_the_page_and_in_metrics() -> None:
    counts, board, registry = RunCounts(), Board(), CollectorRegistry()
    recorder = MetricsRecorder(registry, 10)
    assert board.wall()["budgets"] == []
    for observer in (counts, board, recorder):
        observer.budget_stands(REPORT)
        observer.budget_stands(REPORT)
    report = counts.report(1.0)
    assert LINE in [str(line) for line in render(report).renderables]
    assert report.to_builtins()["budgets"][0]["spent"] == {"large on gpu": 0.25}
    assert board.wall()["budgets"] == [LINE]
    labels = {"budget": "node type", "model": "large on gpu", "unit": "EUR"}
    assert registry.get_sample_value("sluice_budget_spent_total", labels) == 0.25
    assert registry.get_sample_value("sluice_budget_left", {"budget": "node type", "unit": "EUR"}) == 3.65


def test_explain_repeats_the_budgets_of_a_report(tmp_path: Path) -> None:
    result = from_json(GOLDEN.read_bytes(), Result)
    (tmp_path / "r.jsonl").write_bytes(to_json(result) + b"\n")
    counts = RunCounts()
    counts.budget_stands(REPORT)
    (tmp_path / "rep.json").write_text(json.dumps(counts.report(1.0).to_builtins()))
    given = [str(tmp_path / "r.jsonl"), "--frame", str(result.seq), "--report", str(tmp_path / "rep.json")]
    said = CliRunner().invoke(command, given)
    assert said.exit_code == 0, said.output
    assert said.output.rstrip().endswith(LINE)


@pytest.mark.parametrize("budget", ['{"holder": 1}', '{"holder": "' + "x" * 121 + '"}', "[]"])
def test_budgets_of_a_report_that_is_none_are_refused(tmp_path: Path, budget: str) -> None:
    (tmp_path / "rep.json").write_text(f'{{"budgets": [{budget}]}}')
    with pytest.raises(BadInput, match="not a closing report"):
        budgets(tmp_path / "rep.json")
