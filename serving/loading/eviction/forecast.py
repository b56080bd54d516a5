"""The default policy: CremeBrulee's utility, with forecast shares of the requests in the place of plain averages."""

from __future__ import annotations

from serving.loading.eviction.scored import Scored
from serving.loading.eviction.shares import Floats, RequestShares, Rows


class Forecast(Scored):
    """utility(m) = penalty(m) / |m| · p(m), p(m) the forecast share of the next requests (``RequestShares``).

    With plain averages the utility goes wrong by what it cannot know of models requested a few times: it loses to
    popularity where popularity and penalty are correlated, to GDSF where popularity drifts.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shares = RequestShares()

    def loaded(self, model: str, size_bytes: int, load_s: float) -> None:
        """The model may be evicted, and is judged by its like."""
        super().loaded(model, size_bytes, load_s)
        self._shares.join(self._row(model), load_s)

    def _note(self, row: int, now: float) -> None:
        self._shares.observe(row, now)

    def _grow(self) -> None:
        super()._grow()
        self._shares.grow()

    def _utilities(self, rows: Rows) -> Floats:
        return self._density[rows] * self._shares.of(rows)
