"""The one form of batching policies that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from serving.scheduling.batching import BatchDecision, Latency, R


class Policy(Protocol):
    """Decides about the queue of one session whenever its device is free."""

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> BatchDecision[R]:
        """The next batch, of ``max_batch`` places at most unless one request alone takes more; ``now`` in seconds."""
