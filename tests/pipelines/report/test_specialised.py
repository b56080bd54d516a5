"""Specialization in the report: the columns of table 5.4, and why no exit answers."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from operators.wire.schema import StreamPlan
from pipelines.report.run_counts import RunCounts
from pipelines.report.run_report import RunReport
from pipelines.report.text import render
from tests.pipelines.report import specialised_story


def text(report: RunReport) -> str:
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as captured:
        console.print(render(report))
    return " ".join(captured.get().split())


def test_the_report_has_the_figures_that_are_published() -> None:
    report = RunCounts().report(60, [specialised_story.plan()])
    (found,) = report.audits
    figures = found.plan.specialization
    assert figures is not None
    assert (found.stream, found.plan.node, figures.template) == ("gate", "kind", "compact")
    assert (figures.oracle, figures.head, figures.transitions) == (80, 105, 2)
    plain = report.to_builtins()
    assert "specialization" not in plain["audits"][0]
    assert plain["specialization"][0]["head"] == 105


def test_people_see_the_columns_of_table_5_4() -> None:
    seen = text(RunCounts().report(60, [specialised_story.plan()]))
    assert "gate kind 57.9% 4.5% 2 2.5 50.0 8.9 s 46.8% 1.88" in seen
    assert "gate kind specialised shadow 0%" in seen


def test_why_no_exit_answers_is_said() -> None:
    plan = specialised_story.plan()
    (node,) = plan.nodes
    assert node.specialization is not None
    why = msgspec.structs.replace(node.specialization, reason="exits would save too little")
    told = StreamPlan(
        stream=plan.stream, query=plan.query, at=plan.at, nodes=[msgspec.structs.replace(node, specialization=why)]
    )
    assert "gate kind: exits would save too little" in text(RunCounts().report(60, [told]))


def test_without_specialization_nothing_is_said() -> None:
    assert "speed-up" not in text(RunCounts().report(60))
