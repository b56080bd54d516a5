"""Where the caches of a node come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cache_adapt.adaptation.elsewhere import Elsewhere
from operators.recognise.cached.building import BYTE_S, OPENING_S, CutPlan, Runner
from serving.common.clock import SYSTEM, Clock

if TYPE_CHECKING:
    from cache_adapt.caches.store import BuiltCaches


@dataclass(frozen=True)
class CacheSource:
    """A file, or looks of the node, of which this process or another one makes caches."""

    built: BuiltCaches | None
    """Caches from a file; None: they are made from looks."""
    plan: Callable[[], Sequence[CutPlan]]
    """Chooses places in the oracle, in a thread; ModelError where it cannot be cut. Not called for built caches."""
    runner: Callable[[], Runner]
    """Makes who builds; called once, when the first caches are due."""
    samples: Path
    """The directory of the node's samples."""
    agreement: float
    """What the audit demands."""
    weights_bytes: int = 0
    """Size of the network's file."""
    node: str = ""
    elsewhere: Elsewhere | None = None
    """Makes the caches in place of this process."""
    clock: Clock = SYSTEM
    variant: str | None = None
    """The variant that the caches, which are built, sit in, by its name in the query; None: the oracle."""

    @property
    def opening_s(self) -> float:
        """First guess of the processor time of cutting the network and loading it once more."""
        return OPENING_S + BYTE_S * self.weights_bytes
