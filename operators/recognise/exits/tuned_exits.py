"""Exits as they come from their maker, tuned on looks that were made since: for one stream, or for all of a node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.adaptation.targets import Report, Target
from cache_adapt.caches.store import ExitArtefact
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.tapped import AnswersHeard, TappedLooks
from operators.recognise.exits.tuning import ExitChoice, chosen
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitSet
from serving.errors import ModelError

log = logging.getLogger(__name__)

FIRST_TUNING = 48
"""Looks heard since exits were made, at which they are tuned first; then at twice as many each time."""
IN_VAIN = 1200
"""Looks heard of exits, of which none pays, after which it is given up for a while."""
LEAST_GAIN = 0.03
"""By how much of the network's work other exits must spare more than those in use: they have to prove themselves."""


class InUse(NamedTuple):
    """Exits that may answer once they have proven themselves."""

    number: int
    exits: ExitSet
    places: Sequence[int]
    """The cuts at which they sit, in dataflow order."""
    spared: float
    """Share of the network's work that they are expected to spare."""

    def answers(self, taps: Sequence[NDArray[np.float32]], cuts: Sequence[str]) -> ExitAnswersSoFar:
        """What they say of looks that ran on: the first that is sure answers."""
        count = len(taps[0])
        place, said = np.full(count, len(cuts), np.int32), np.zeros((count, self.exits.classes), np.float32)
        for index, cut in enumerate(cuts):
            exit_, waiting = self.exits.by_cut.get(cut), np.flatnonzero(place == len(cuts))
            if exit_ is None or not len(waiting):
                continue
            found = exit_.look(taps[index][waiting])
            who = waiting[found.hit]
            place[who], said[who] = index, found.distribution[found.hit]
        return ExitAnswersSoFar(place, said)


class ExitAnswersSoFar(NamedTuple):
    """N looks."""

    place: NDArray[np.int32]
    """The index of the cut whose exit was sure first; the number of cuts: none was."""
    distribution: NDArray[np.float32]
    """N × classes."""


@dataclass(frozen=True)
class ExitsRequest:
    """The exits that are wanted, and who makes them."""

    target: Target
    stream: str
    """In whose name they are asked for; empty: for all streams."""
    agreement: float
    """The audit's demand."""
    elsewhere: Elsewhere


class TunedExits:
    """The newest exits of one request, what was heard of them, and those that are in use, perhaps older ones."""

    def __init__(self, request: ExitsRequest, cut: CutOracle, artefact: ExitArtefact | None = None) -> None:
        """``artefact``: exits that are there before any are made."""
        self._request, self._cut = request, cut
        self.version = 0
        """The newest artefact's; 0: none has come."""
        self.artefact: ExitArtefact | None = None
        self._heard = AnswersHeard(0)
        self._due = FIRST_TUNING
        self._work: asyncio.Task[None] | None = None
        self.in_use: InUse | None = None
        self.numbers = 0
        self.found: ExitChoice | None = None
        """What the last tuning found; None: nothing that pays, or there was none yet."""
        if artefact is not None:
            self._take(artefact)

    @property
    def waits_for(self) -> str:
        """What is missing as long as nothing is in use."""
        if self.artefact is None:
            return "none are made yet"
        return f"they were heard at {self._heard.taken} looks since they were made, and are tuned next at {self._due}"

    def ask(self, report: Report) -> None:
        """Ask for the exits, or go on asking; take newer ones."""
        self._request.elsewhere.want(self._request.target, report)
        update = self._request.elsewhere.newest(self._request.target)
        if update is None or update.version <= self.version:
            return
        self.version = update.version
        try:
            self._take(ExitArtefact.from_bytes(update.data))
        except ModelError as error:
            log.warning("exits of %s are not used: %s", self._request.target.subject.node, error)

    def heard(self, looks: TappedLooks, samples: NDArray[np.float32]) -> None:
        """Take looks that ran on: as samples (N × values) for the maker, and as what the newest exits are tuned on."""
        subject = self._request.target.subject
        for word, sample in zip(looks.words.tolist(), samples, strict=True):
            self._request.elsewhere.offer(subject, self._request.stream, word, sample)
        if self.artefact is None:
            return
        cuts = [self._cut.cuts.index(each.tensor) for each in self.artefact.exits]
        found = [each.words(looks.taps[cut]) for each, cut in zip(self.artefact.exits, cuts, strict=True)]
        self._heard.add(np.stack([each[1] for each in found]), np.stack([each[0] for each in found]), looks)

    @property
    def tuning_is_due(self) -> bool:
        """Whether twice as many looks were heard as at the last tuning."""
        return self._work is None and self.artefact is not None and self._heard.taken >= self._due

    @property
    def is_in_vain(self) -> bool:
        """Whether many looks were heard, and nothing that pays was found."""
        return self._work is None and self.found is None and self._heard.taken >= IN_VAIN and self._due > self._heard.taken

    def forget_heard(self) -> None:
        """Begin to hear anew."""
        self._heard, self._due = AnswersHeard(0 if self.artefact is None else len(self.artefact.exits)), FIRST_TUNING

    def tune(self, words: Collection[int] | None) -> None:
        """Tune in a thread, while looks go on; ``words``: those that the exits may say, None: all."""
        self._due = 2 * self._heard.taken
        self._work = asyncio.create_task(self._tune(words))

    def use(self, choice: ExitChoice, number: int | None = None) -> InUse:
        """From now on exits answer as they were tuned, once they have proven themselves; ``number``: theirs."""
        assert self.artefact is not None
        self.numbers = self.numbers + 1 if number is None else number
        cuts = [each.tensor for each in self.artefact.exits]
        by_cut = {cuts[place]: exit_ for place, exit_ in choice.exits_of(self.artefact).items()}
        self.in_use = InUse(self.numbers, ExitSet(by_cut, self.artefact.classes), choice.places, choice.spared)
        return self.in_use

    def is_better(self, choice: ExitChoice) -> bool:
        """Whether exits spare so much more than those in use that these give way."""
        return self.in_use is None or choice.spared >= self.in_use.spared + LEAST_GAIN

    def withdraw(self) -> None:
        """Nothing is in use any more; what was heard stays."""
        self.in_use = self.found = None

    async def settled(self) -> None:
        """Return when nothing is being tuned."""
        if self._work is not None:
            await asyncio.wait([self._work])

    def close(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def _take(self, artefact: ExitArtefact) -> None:
        self.artefact = artefact
        self.forget_heard()

    async def _tune(self, words: Collection[int] | None) -> None:
        took, artefact = ThreadTime(), self.artefact
        assert artefact is not None
        work = partial(
            chosen, artefact, self._heard, self._cut.places, words, self._request.agreement, self._cut.whole_s
        )
        try:
            found = await in_thread(took.of(work))
            if artefact is self.artefact:
                self.found = found
        finally:
            self._cut.budget.spend("training", took.seconds)
            self._work = None
