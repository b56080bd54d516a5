"""Our figure of a claim, read from a committed CSV, and the verdict that follows from it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from statistics import fmean, median

from benchmarks.claims_parts.claim import Claim, Figure, Other, Value, Where
from benchmarks.harness import RESULTS

REFUTED, WORSE, REPRODUCED, BETTER = "refuted", "worse", "reproduced", "better"
EXACT, IMPOSSIBLE, UNTRIED = "exact, by a test", "not measurable here", "not tried"
MISSED = (REFUTED, WORSE)
MEASURED = (REFUTED, WORSE, REPRODUCED, BETTER)
"""From the worst to the best: a claim has the worst verdict of its figures."""
TAKES: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "median": median, "least": min, "most": max}


@cache
def table(name: str) -> list[dict[str, str]]:
    """The rows of a committed CSV."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def is_value(cell: str, wanted: Value | list[Value]) -> bool:
    """Numbers are compared as numbers.

    >>> is_value("0.970", 0.97), is_value("caches", ["caches", "int8"]), is_value("", 0.97)
    (True, True, False)
    """
    if isinstance(wanted, list):
        return any(is_value(cell, each) for each in wanted)
    return cell == wanted if isinstance(wanted, str) else bool(cell) and float(cell) == wanted


def groups(figure: Figure, column: str, where: Where) -> list[float]:
    """The mean of a column in each group of the rows; raises ``ValueError`` where there is no such row."""
    found: dict[tuple[str, ...], list[float]] = {}
    for place, row in enumerate(table(figure.csv)):
        if all(is_value(row[name], wanted) for name, wanted in where.items()):
            key = (str(place),) if figure.by == ["*"] else tuple(row[name] for name in figure.by)
            found.setdefault(key, []).append(float(row[column]))
    if not found:
        raise ValueError(f"{figure.what}: no row of {figure.csv}.csv has {where}")
    return [fmean(values) for values in found.values()]


def ours(figure: Figure) -> float:
    """Our figure; raises ``KeyError`` and ``ValueError`` where the CSV has no such column or row."""

    def other(said: Other) -> list[float]:
        return groups(figure, said.column or figure.column, {**figure.where, **said.where})

    values = groups(figure, figure.column, figure.where)
    if figure.over:
        values = [a / b for a, b in zip(values, other(figure.over), strict=True)]
    elif figure.minus:
        values = [a - b for a, b in zip(values, other(figure.minus), strict=True)]
    elif figure.spared:
        values = [1 - a / b for a, b in zip(values, other(figure.spared), strict=True)]
    return TAKES[figure.take](values)


def judged(figure: Figure, value: float) -> str:
    """The rule.

    >>> gain = Figure("gain", 2.0, "any", "any", nothing=1.0)
    >>> [judged(gain, value) for value in (0.9, 1.7, 1.9, 2.3)]
    ['refuted', 'worse', 'reproduced', 'better']
    """
    sign = 1 if figure.better == "more" else -1
    if figure.nothing is not None and sign * (value - figure.nothing) <= 0:
        return REFUTED
    low, high = (each + side * figure.within * abs(each) for each, side in zip(figure.printed, (-1, 1), strict=True))
    if low <= value <= high:
        return REPRODUCED
    return BETTER if (value > high) == (sign > 0) else WORSE


def verdict(claim: Claim) -> str:
    """The worst of a claim's figures; without figures whether a test computes it, or it could be tried at all."""
    if claim.figures:
        return min((judged(figure, ours(figure)) for figure in claim.figures), key=MEASURED.index)
    return IMPOSSIBLE if claim.impossible else EXACT if claim.tests else UNTRIED
