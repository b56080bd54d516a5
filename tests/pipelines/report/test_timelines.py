"""Specialization in the report: the columns of table 5.4, and what dominated when."""

from __future__ import annotations

import io

from rich.console import Console

from pipelines.report.run_counts import RunCounts
from pipelines.report.run_report import RunReport, SpanReport, summaries
from pipelines.report.text import render, stories
from specialization.timeline import Timeline
from tests.pipelines.report import timeline_story


def text(report: RunReport) -> str:
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as captured:
        console.print(render(report))
    return " ".join(captured.get().split())


def test_the_report_has_figures_and_spans() -> None:
    told = [("gate", "kind", timeline_story.timeline())]
    report = RunCounts().report(60, [timeline_story.plan()], told)
    (found,) = report.specialization
    figures = found.figures
    assert (found.stream, found.node, figures.template) == ("gate", "kind", "compact")
    assert (figures.oracle, figures.head, figures.transitions) == (80, 105, 2)
    assert found.spans[3] == SpanReport(10, 40, "specialised", ["car", "van"])
    assert "specialization" not in report.to_builtins()["audits"][0]


def test_people_see_who_answered_when() -> None:
    told = [("gate", "kind", timeline_story.timeline())]
    seen = text(RunCounts().report(60, [timeline_story.plan()], told))
    assert "gate kind 57.9% 4.5% 2 2.5 50.0 8.9 s 46.8% 1.88" in seen
    assert "gate kind: 0–10 s oracle; 10–40 s car, van; 40–50 s oracle; 50–60 s bus, car, van" in seen
    assert "gate kind specialised shadow 0%" in seen


def test_a_stream_that_never_showed_a_skew_is_told_of_too() -> None:
    timeline = Timeline()
    timeline.entered(0, "initialising")
    timeline.counted(3, oracle=30)
    timeline.entered(3, "selecting")
    report = RunCounts().report(60, [], [("gate", "kind", timeline)])
    (found,) = report.specialization
    assert (found.figures.phase, found.figures.special_rate, found.figures.saving) == ("selecting", 0, None)
    assert "gate kind 0.0% – 0 – – – – –" in text(report)
    assert stories([found]) == []


def test_without_specialization_nothing_is_said() -> None:
    assert "speed-up" not in text(RunCounts().report(60))


def test_a_long_story_is_cut_and_many_classes_are_counted() -> None:
    timeline = Timeline()
    for number in range(20):
        timeline.entered(10 * number, "specialised", [f"c{each}" for each in range(9)], window=30)
        timeline.entered(10 * number + 5, "initialising")
    timeline.counted(200, oracle=1)
    (story,) = stories(summaries([("gate", "kind", timeline)], []))
    assert story.startswith("gate kind: …; 160–165 s c0, c1, c2, c3, c4, c5 and 3 more; 165–170 s oracle; ")
    assert story.endswith("195–200 s oracle")
