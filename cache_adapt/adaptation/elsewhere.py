"""The contract of what trains for the nodes of a process, in this process or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.updates import Update


class Elsewhere(Protocol):
    """Takes samples and wishes, and has what was trained. All methods return at once."""

    def offer(self, subject: Subject, stream: str, labels: Sequence[int], features: NDArray[np.floating[Any]]) -> None:
        """Offer samples of a stream: N × D values, and the N numbers of what the oracle said. Some may get lost.

        The values are copied. ValueError where the subject is another stream's.
        """
        ...

    def want(self, target: Target, stream: str) -> None:
        """Want something for a stream, or go on wanting it; to be called again every few minutes at least.

        ValueError where the target is another stream's.
        """
        ...

    def newest(self, target: Target) -> Update | None:
        """The newest version that has come; None as long as there is none."""
        ...
