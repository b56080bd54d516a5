"""The contract of what trains elsewhere, as the shortcuts of a worker see it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.targets import Report, Subject, Target


class Update(NamedTuple):
    """An artefact that came, as it is on the wire: its user has to check what is in it."""

    version: int
    data: bytes


class Elsewhere(Protocol):
    """Takes samples and wishes, and has what was trained. All methods return at once, except ``after``."""

    def offer(self, subject: Subject, stream: str, label: int, features: NDArray[np.float32]) -> None:
        """Offer a sample: D activations, and the number of what the oracle said. Some may get lost."""
        ...

    def want(self, target: Target, report: Report) -> None:
        """Want something, or go on wanting it; to be called again every few minutes at least."""
        ...

    def newest(self, target: Target) -> Update | None:
        """The newest version that has come; None as long as there is none."""
        ...

    async def after(self, target: Target, version: int) -> Update:
        """Wait for a version after this one; it may never come."""
        ...
