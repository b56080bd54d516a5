"""Whether a process is alive and whether it is at work, as ``/healthz`` and ``/readyz`` say."""

from __future__ import annotations

from collections.abc import Mapping

from operators.observer import Observer

STARTING = "the process is starting"


class Condition(Observer):
    """Kept by a worker's own hooks, or set from outside; read from any thread."""

    def __init__(self) -> None:
        self.problem: str | None = None
        """Why the process makes no progress; None while it is well."""
        self.waits_for: str | None = STARTING
        """Why it is not at work yet; None while it is."""

    @property
    def unready(self) -> str | None:
        """Why it should be sent no work; None if it should."""
        return self.waits_for or self.problem

    def worker_waits(self, reason: str) -> None:
        """See ``Observer``."""
        self.waits_for = reason

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        """See ``Observer``."""
        self.waits_for, self.problem = None, problem

    def broker_polled(self, away: str | None) -> None:
        """Note why the broker does not answer; None where it does."""
        self.waits_for, self.problem = away, None
