"""The specialised cascade of one stream: the algorithm that drives it, and its heads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from operators.recognise.workshop import Workshop
from serving.errors import ModelError, SluiceError
from specialization.head import SpecialisedHead
from specialization.weg import Weg
from specialization.weg_state import Head, WegState

log = logging.getLogger(__name__)


class CascadeState(msgspec.Struct):
    """What survives a restart or a move to another worker."""

    weg: WegState
    heads: dict[int, bytes]
    """By number, as ``SpecialisedHead.to_bytes`` writes them."""
    networks: dict[str, str]
    """Templates of the heads, and the sha256 of the network each was trained on."""
    labels: str
    """Which labels the numbers of classes stand for: their digest."""
    strictness: int = 0


class InUse(NamedTuple):
    """The head that answers."""

    number: int
    template: str
    head: SpecialisedHead
    workshop: Workshop
    """Where it comes from."""


class Cascade:
    """Tells WEG what comes of a stream, and has the heads trained that it asks for; meanwhile the oracle goes on."""

    def __init__(self, name: str, workshop: Workshop, changed: Callable[[], None]) -> None:
        """``name``: for messages. ``changed`` is called when a head came or went."""
        self.strictness = 0
        """How often heads turned out to agree too seldom: the later ones may err half as often each time."""
        self.workshop = workshop
        self._name, self._changed = name, changed
        self._heads: dict[int, SpecialisedHead] = {}
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self.weg = Weg(workshop.rules(0))

    @property
    def in_use(self) -> InUse | None:
        """The head that answers, if one does."""
        head = self.weg.state.head
        if head is None:
            return None
        return InUse(head.number, head.target.template, self._heads[head.number], self.workshop)

    def answered(self, used: InUse | None, said: str, by_head: bool) -> None:
        """An answer: of the head that was ``used``, or of the oracle after it had said "other", or alone."""
        label = self.workshop.number(said)
        if used is None:
            self.weg.rules = self.workshop.rules(self.strictness)
            self.weg.oracle_answered(label)
        else:
            self._tell_of(self.weg.cascade_answered(used.number, label, by_head))
        self._follow()

    def audited(self, number: int, agrees: bool) -> None:
        """The oracle looked at what a head had answered."""
        self._tell_of(self.weg.audited(number, agrees))
        self._follow()

    def distrust(self) -> None:
        """What the heads answered agrees too seldom: drop them all, and demand more of those to come."""
        state = self.weg.state
        unwanted = [*state.known, state.wanted] if state.wanted else list(state.known)
        self.strictness += bool(unwanted)
        for head in unwanted:
            self.weg.head_failed(head.number)
        self._follow()

    def close(self) -> None:
        """Wait for no more heads."""
        for job in self._jobs.values():
            job.cancel()

    def state(self) -> CascadeState:
        """To go on with elsewhere."""
        known = [head for head in self.weg.state.known if head.number in self._heads]
        return CascadeState(
            self.weg.state,
            {head.number: self._heads[head.number].to_bytes() for head in known},
            {head.target.template: self.workshop.sha256(head.target.template) for head in known},
            self.workshop.labels_digest,
            self.strictness,
        )

    def restore(self, state: CascadeState) -> None:
        """Go on with what was known; heads that are damaged or belong to another network are asked for anew.

        Where classes have other names now, as after an identity was enrolled, nothing that was known holds.
        """
        if state.labels != self.workshop.labels_digest:
            return
        self.strictness = state.strictness
        self._heads = {}
        for head in state.weg.known:
            name = head.target.template
            if self.workshop.has(name) and state.networks.get(name) == self.workshop.sha256(name):
                self._take(head.number, state.heads.get(head.number, b""))
        self.weg = Weg(self.workshop.rules(self.strictness), state.weg)
        lost = [head for head in (*state.weg.known, state.weg.head) if head and head.number not in self._heads]
        for head in lost:
            self.weg.head_failed(head.number)

    def _take(self, number: int, data: bytes) -> None:
        try:
            self._heads[number] = SpecialisedHead.from_bytes(data)
        except ModelError as error:
            log.warning("%s: %s; it is trained anew when it is wanted", self._name, error)

    def _follow(self) -> None:
        """Have the wanted head trained, once, and keep no weights that nobody will ask for."""
        state = self.weg.state
        wanted = state.wanted
        if wanted and wanted.number not in self._jobs:
            self._jobs[wanted.number] = asyncio.create_task(self._train(wanted))
        kept = {head.number for head in state.known}
        for number in self._heads.keys() - kept:
            del self._heads[number]

    async def _train(self, wanted: Head) -> None:
        try:
            head = await self.workshop.train(wanted, self.strictness)
        except SluiceError as error:
            log.info("%s: no head for %s: %s", self._name, self.workshop.words(wanted.target.classes), error)
            self.weg.head_failed(wanted.number)
        else:
            self._arrived(wanted, head)
        finally:
            del self._jobs[wanted.number]
        self._follow()
        self._changed()

    def _arrived(self, wanted: Head, head: SpecialisedHead) -> None:
        """Use the head, unless it turned out that this one, unlike others of its template, does not serve."""
        target = wanted.target
        if not self.workshop.serves(target, head.rates, self.strictness):
            log.info("%s: a head for %s would not serve", self._name, self.workshop.words(target.classes))
            self.weg.head_failed(wanted.number)
            return
        self._heads[wanted.number] = head
        self.weg.head_arrived(wanted.number)

    def _tell_of(self, left: str | None) -> None:
        if left:
            log.info("%s: a head is left: %s", self._name, left)
            self._changed()
