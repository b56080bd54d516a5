"""Where the caches of a node come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cache_adapt.adaptation.elsewhere import Elsewhere
from operators.recognise.cached.building import BYTE_S, OPENING_S, CutPlace, Runner
from operators.recognise.cached.validation import ValidationSet
from serving.common.clock import SYSTEM, Clock

if TYPE_CHECKING:
    from cache_adapt.caches.store import BuiltCaches


@dataclass(frozen=True)
class CacheSource:
    """A file, or looks of the node, from which this process or another one makes caches."""

    built: BuiltCaches | None
    """Caches from a file; None: they are made from looks."""
    places: Callable[[], Sequence[CutPlace]]
    """Chooses places in the oracle, in a thread, or finds those of built caches; ModelError where it cannot be cut."""
    runner: Callable[[], Runner]
    """Makes who builds; called once, when the first caches are due."""
    samples: Path
    """The directory of the node's samples."""
    agreement: float
    """The audit's demand."""
    validation: ValidationSet | None = None
    """Data that an adaptation worker trains on too, if it has the same; ``places`` gives its own then."""
    weights_bytes: int = 0
    """Size of the network's file."""
    node: str = ""
    elsewhere: Elsewhere | None = None
    """Makes the caches in place of this process."""
    clock: Clock = SYSTEM
    variant: str | None = None
    """The variant that the caches, which are built, sit in, by its name in the query; None: the oracle."""

    releases: bool = False
    """Whether answers go out early, and all looks run to the network's end."""

    @property
    def is_adapted(self) -> bool:
        """Whether an adaptation worker may go on from built caches, at the same places."""
        if self.built is None or self.variant is not None or self.elsewhere is None or self.validation is None:
            return False
        return self.built.tensors == tuple(cut.tensor for cut in self.validation.cuts)

    @property
    def opening_s(self) -> float:
        """First guess of the processor time of cutting the network and loading it once more."""
        return OPENING_S + BYTE_S * self.weights_bytes
