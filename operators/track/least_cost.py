"""The assignment of least cost for a few rows and columns, by shortest augmenting paths. Pure.

Rows are entered one by one. Each takes the column at the end of the shortest path that leads through columns taken
already, whose rows move on by one (Jonker & Volgenant, 1987, without their initialisation). ``scipy.optimize`` has the
same, but every run has conflicts, nearly all of two to eight boxes: they take .015 ms here and .001 ms there, and the
import takes .3 to .4 s, a third of what a run's start may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

FREE = -1
Costs = Sequence[Sequence[float]]


def least_cost(costs: Costs) -> list[int]:
    """Rows × columns, at least as many columns as rows → the column of each row, such that they cost least together."""
    width = len(costs[0])
    prices, owners = [0.0] * width, [FREE] * width
    for row in range(len(costs)):
        _enter(row, costs, prices, owners)
    return [owners.index(row) for row in range(len(costs))]


def _enter(row: int, costs: Costs, prices: list[float], owners: list[int]) -> None:
    """Give the row a column; ``prices`` of columns are such that no row would gain by another one's column."""
    width = len(prices)
    far, through, reached = [inf] * width, [FREE] * width, list[int]()
    waiting, column, length = set(range(width)), FREE, 0.0
    while column == FREE or owners[column] != FREE:
        at = row if column == FREE else owners[column]
        paid = 0.0 if column == FREE else costs[at][column] - prices[column]
        for other in waiting:
            path = length + costs[at][other] - prices[other] - paid
            if path < far[other]:
                far[other], through[other] = path, column
        column = min(waiting, key=far.__getitem__)
        waiting.remove(column)
        reached.append(column)
        length = far[column]
    for other in reached[:-1]:
        prices[other] += far[other] - length
    while column != FREE:
        before = through[column]
        owners[column] = row if before == FREE else owners[before]
        column = before
