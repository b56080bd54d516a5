"""The account of caches that a stream teaches: what is summed up, and the plot."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from benchmarks.caches_stream import _answer, _draw, headline


def row(stream: str, start: int, pictures: int, agreement: float, speedup: float) -> dict[str, Any]:
    counts = {"from_picture": start, "pictures": pictures, "by_caches": 0.5}
    return {"stream": stream, **counts, "agreement": agreement, "cpu_speedup": speedup}


ROWS = [row("2_90", 0, 2000, 1.0, 1.25), row("2_90", 2000, 1000, 0.94, 1.25), row("5_90", 0, 500, 0.9, 1.1)]


def test_agreement_is_that_of_all_pictures_of_a_stream() -> None:
    found = headline(ROWS)
    assert found == {"cpu_speedup": {"2_90": 1.25, "5_90": 1.1}, "agreement": {"2_90": 0.98, "5_90": 0.9}}


def test_an_answer_is_the_one_of_the_whole_picture() -> None:
    said = {"label": "cat", "provenance": "cached"}
    assert _answer({"objects": [{"attributes": [said]}]}) == said


def test_every_stream_has_a_line_in_both_plots() -> None:
    figure = Figure()
    _draw(ROWS, figure)
    upper, lower = figure.axes
    assert [len(line.get_xdata()) for line in upper.lines] == [2, 1]
    assert [line.get_label() for line in lower.lines[:2]] == ["2_90", "5_90"]
