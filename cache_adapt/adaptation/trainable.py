"""The contract of a kind of artefact that is trained on samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Rows
from serving.errors import SluiceError

Paid = Callable[[float], None]
"""Called with the processor seconds that a training has taken."""


class TooEarly(SluiceError):
    """Nothing can be learnt from these samples, and soon something can."""


@dataclass(frozen=True, slots=True)
class MadeArtefact:
    """A new artefact."""

    data: bytes
    """Encoded: no pickle."""
    detail: str
    """A description in a few words for people."""


class Trainable(Protocol):
    """The kind of artefact that an ``Adaptation`` makes."""

    @property
    def kind(self) -> str:
        """Its name, unique and short; part of the artefacts' keys."""
        ...

    @property
    def least_samples(self) -> int:
        """Recent samples without which it need not be tried, those that are held back among them."""
        ...

    def why_foreign(self, subject: Subject) -> str | None:
        """Why samples of this network are of no use; None where they are."""
        ...

    def why_not(self, target: Target) -> str | None:
        """Why a target, which is not trusted, cannot be trained; None where it can."""
        ...

    def dims(self, target: Target) -> int:
        """The numbers of a sample that a target which can be trained is trained on."""
        ...

    async def train(self, target: Target, rows: Rows, paid: Paid) -> MadeArtefact:
        """Train on samples, oldest first, perhaps none, and on the kind's validation set; SluiceError where it fails.

        Not in this process's threads. ``paid`` is called whether it succeeds or not.
        """
        ...

    def judge(self, target: Target, data: bytes, held: Rows) -> float:
        """The worth of an artefact, 0…1, by recent samples, of none of which it is only checked; ModelError if damaged.

        Called in a thread where there are samples.
        """
        ...
