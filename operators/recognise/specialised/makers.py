"""Who makes the heads of a node: a trainer of this process, on the samples that the node has taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cache_adapt.adaptation.triggers import VersionUse
from operators.recognise.specialised.own_samples import NodeSamples
from specialization.heads.head import SpecialisedHead
from specialization.rates import MeasuredRates
from specialization.templates.stored import StoredTemplate
from specialization.trainer.job import Job, Paid, ProfileJob
from specialization.trainer.trainer import Specializer


@dataclass(frozen=True, slots=True)
class HeadWish:
    """A head that a stream wants."""

    stream: str
    template: str
    classes: tuple[int, ...]
    training_skew: float
    tolerance: float
    """Share of the head's answers that may be wrong."""
    number: int = 0
    """The head's number on the stream."""


class Trained(NamedTuple):
    """A head, and its version where it comes from elsewhere."""

    head: SpecialisedHead
    version: int = 0


class HeadMaker(Protocol):
    """Makes heads, and finds out how well heads do."""

    costs_here: bool
    """Whether training takes this process's time, or that of its children."""

    async def train(self, wish: HeadWish, paid: Paid) -> Trained:
        """Make a head; SluiceError where that fails. ``paid`` is called with the processor seconds it took here."""
        ...

    async def profile(self, template: str, paid: Paid) -> Sequence[MeasuredRates]:
        """Find out how well heads of a template do; SluiceError where that fails."""
        ...

    def newer(self, wish: HeadWish, version: int) -> Trained | None:
        """A later version of a head than this one, if there is one that can be used."""
        ...

    def report(self, wish: HeadWish, version: int, seen: VersionUse) -> None:
        """Say that a head is wanted as before, and what was seen of it."""
        ...


class HeadsMadeHere:
    """By a trainer that this process pays for."""

    costs_here = True

    def __init__(self, trainer: Specializer, samples: NodeSamples) -> None:
        self._trainer, self._samples = trainer, samples
        self._templates: Mapping[str, StoredTemplate] = samples.templates

    async def train(self, wish: HeadWish, paid: Paid) -> Trained:
        stored, own = self._templates[wish.template], str(self._samples.directory(wish.template))
        job = Job(
            str(stored.directory) if stored.has_store else own,
            wish.classes,
            wish.training_skew,
            wish.tolerance,
            seed=wish.number,
            own=own if stored.has_store and self._samples.taken(wish.template) else None,
        )
        return Trained(await self._trainer.train(job, paid))

    async def profile(self, template: str, paid: Paid) -> Sequence[MeasuredRates]:
        return await self._trainer.profile(ProfileJob(str(self._samples.directory(template)), seed=0), paid)

    def newer(self, wish: HeadWish, version: int) -> Trained | None:
        """None: a head is trained when WEG asks for it, and then it is the newest."""
        return None

    def report(self, wish: HeadWish, version: int, seen: VersionUse) -> None:
        """Do nothing: nobody asks."""
