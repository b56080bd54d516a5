"""The limits of a process's networks on its machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from serving.common.cores import usable_cores
from serving.scheduling.time_limits import TimeLimits


@dataclass(frozen=True, slots=True)
class NetworkBounds:
    """Memory and time, and how much may run at once."""

    memory_bytes: int | None = None
    """The most memory of all loaded networks together; None: no bound."""
    threads: int = field(default_factory=usable_cores)
    """Cores that one network may use."""
    max_batch: int = 16
    time: TimeLimits = field(default_factory=TimeLimits)
