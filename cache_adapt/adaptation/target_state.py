"""The memory of one target, what is to be trained, and what was; plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from cache_adapt.adaptation.targets import Target
from cache_adapt.adaptation.triggers import History, Reason


@dataclass
class TargetState:
    """Everything that is known of one target but for the bytes of its newest version."""

    wanted_at_s: float
    history: History = field(default_factory=History)
    version: int = 0
    in_use: str = ""
    """The digest of the version in use; empty where there is none that can be used."""
    made: str = ""
    """The digest of the last one that was trained here."""


@dataclass(frozen=True, slots=True)
class DueTraining:
    """A target to train now, and the reason."""

    target: Target
    reason: Reason


@dataclass(frozen=True, slots=True)
class Artefact:
    """A trained artefact to publish."""

    target: Target
    version: int
    data: bytes
    samples: int
    """Number of recent samples that it was trained on."""
