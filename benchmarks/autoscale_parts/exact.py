"""Solves the programme with HiGHS within a time limit; what the limit leaves open, the heuristic may do better.

Where the resources do not serve all, as much as possible is served first, by priority, and then as cheaply as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, hstack

from benchmarks.autoscale_parts.greedy import heuristic
from benchmarks.autoscale_parts.programme import Programme, Solution, enough

SOLVED, STOPPED, IMPOSSIBLE = 0, 1, 2
"""Status of HiGHS as SciPy tells it."""
TOLERANCE = 1e-6
"""More may be left than the least, as a share of a load: else rounding would make that impossible."""
Vector = NDArray[np.float64]
Status = Literal["solved", "stopped", "impossible"]


def solve(given: Programme, limit_s: float) -> Solution:
    """The cheapest numbers of instances that serve the most; the time limit holds for each of at most three solves."""
    rows = _Rows(given)
    status, found = rows.cheapest(limit_s)
    if status == "impossible":
        status, least = rows.least_unserved(limit_s)
        if least is not None:
            done, found = rows.cheapest(limit_s, least)
            status = status if done == "solved" else done
    if status == "solved" and found is not None:
        return _solution(given, found, exact=True)
    known = heuristic(given)
    if found is not None:
        incumbent = _solution(given, found, exact=False)
        return min((incumbent, known), key=lambda each: (given.unserved(each.counts), given.objective(each.counts)))
    return known


def _solution(given: Programme, counts: Sequence[int], exact: bool) -> Solution:
    by_key = {each.key: count for each, count in zip(given.candidates, counts, strict=True)}
    return Solution(by_key, "programme" if exact else "incumbent", given.short(by_key))


class _Rows:
    """The programme as matrices: for each candidate the instances to load, then those to unload, then what is left."""

    def __init__(self, given: Programme) -> None:
        self._given, self._size = given, len(given.candidates)
        self._names, pools = list(given.asked), list(given.pools)
        self._running = np.array([each.running for each in given.candidates], dtype=float)
        place = {name: row for row, name in enumerate(self._names)}
        serves = [(place[each.application], column, each.items_per_s) for column, each in enumerate(given.candidates)]
        row = {pool: at for at, pool in enumerate(pools)}
        takes = [
            (row[pool], column, need)
            for column, each in enumerate(given.candidates)
            for pool, need in each.needs.items()
        ]
        self._serves = _sparse(serves, len(self._names), self._size)
        self._takes = _sparse(takes, len(pools), self._size)
        self._asked = np.array([given.asked[name] for name in self._names])
        shares = [given.weight[name] / asked if (asked := given.asked[name]) else 0.0 for name in self._names]
        self._weights = np.array(shares)
        taken = self._takes @ self._running
        self._room = np.maximum(np.array([given.pools[pool] for pool in pools]), taken) - taken
        most = [enough(given.asked[each.application], each) for each in given.candidates]
        self._upper = np.concatenate([np.array(most, dtype=float), self._running])

    def cheapest(self, limit_s: float, unserved: float = 0.0) -> tuple[Status, list[int] | None]:
        """Minimise the cost; ``unserved``: so much may be left, as the weighted sum of shares."""
        if not self._size:
            return ("impossible", None) if self._asked.any() and not unserved else ("solved", [])
        price = [self._given.price(each, 1) for each in self._given.candidates]
        saved = [-each.cost_per_s for each in self._given.candidates]
        costs = np.array([*price, *saved, *[0.0] * len(self._names)])
        gaps = csr_array(np.concatenate([np.zeros(2 * self._size), self._weights])[None, :])
        rows = [*self._rows(), LinearConstraint(gaps, -np.inf, unserved)]
        status, found = self._solved(costs, rows, self._asked if unserved else 0 * self._asked, limit_s)
        if found is None:
            return status, None
        more = np.rint(found[: self._size] - found[self._size : 2 * self._size])
        return status, [int(each) for each in self._running + more]

    def least_unserved(self, limit_s: float) -> tuple[Status, float | None]:
        """The least weighted sum of the shares of loads that are not served."""
        if not self._size:
            return "solved", float(self._weights @ self._asked)
        costs = np.concatenate([np.zeros(2 * self._size), self._weights])
        status, found = self._solved(costs, self._rows(), self._asked, limit_s)
        return status, None if found is None else float(costs @ found) + TOLERANCE

    def _rows(self) -> list[LinearConstraint]:
        """Items that are served and those that are not are the load; instances have room."""
        names = len(self._names)
        served = hstack([self._serves, -self._serves, csr_array(np.eye(names))], format="csr")
        taken = hstack([self._takes, -self._takes, csr_array((len(self._room), names))], format="csr")
        missing = self._asked * (1 - 1e-9) - self._serves @ self._running
        return [LinearConstraint(served, missing, np.inf), LinearConstraint(taken, -np.inf, self._room)]

    def _solved(
        self, costs: Vector, rows: Sequence[LinearConstraint], gaps: Vector, limit_s: float
    ) -> tuple[Status, Vector | None]:
        return _milp(costs, np.concatenate([self._upper, gaps]), rows, 2 * self._size, limit_s)


def _sparse(entries: Sequence[tuple[int, int, float]], rows: int, columns: int) -> csr_array:
    at = np.array([entry[:2] for entry in entries], dtype=int).reshape(-1, 2)
    values = np.array([entry[2] for entry in entries], dtype=float)
    return coo_array((values, (at[:, 0], at[:, 1])), shape=(rows, columns)).tocsr()


def _milp(
    costs: Vector, upper: Vector, rows: Sequence[LinearConstraint], integers: int, limit_s: float
) -> tuple[Status, Vector | None]:
    kinds = np.concatenate([np.ones(integers), np.zeros(len(costs) - integers)])
    found = milp(costs, integrality=kinds, bounds=Bounds(0, upper), constraints=rows, options={"time_limit": limit_s})
    status: Status = "solved" if found.status == SOLVED else "impossible" if found.status == IMPOSSIBLE else "stopped"
    return status, None if found.x is None else np.asarray(found.x, dtype=float)
