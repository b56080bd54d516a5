"""How often an endpoint may be called in a minute: a token bucket. Pure.

Work in the background leaves the other half of a minute's calls to frames.
"""

from __future__ import annotations


class CallRate:
    """That of one endpoint."""

    def __init__(self, per_minute: int | None) -> None:
        """``per_minute``: None for any number."""
        self._per_minute = per_minute
        self._bucket = float(per_minute or 0)
        self._filled_s: float | None = None

    def refusal(self, now_s: float, background: bool = False) -> str | None:
        """Why no call may be made now; None where one may. ``now_s``: of a steady clock."""
        most = self._per_minute
        if most is None:
            return None
        gone_s = 0.0 if self._filled_s is None else max(0.0, now_s - self._filled_s)
        self._bucket, self._filled_s = min(float(most), self._bucket + gone_s * most / 60), now_s
        least = 1.0 + most / 2 * background
        return None if self._bucket >= least else f"the {most} calls of a minute are made"

    def begin(self) -> None:
        """Count a call that is made now."""
        self._bucket -= 1.0
