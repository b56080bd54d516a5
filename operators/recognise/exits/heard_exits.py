"""Exits as they come from their maker, tuned on looks of folds that they have not seen: of one stream, or of all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.pooled import PoolRule
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.held_looks import HeldWindows
from operators.recognise.exits.saved_state import SavedExits
from operators.recognise.exits.tuning import ExitChoice, as_learnt, chosen_on
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitSet
from serving.errors import ModelError

log = logging.getLogger(__name__)

FIRST_TUNING = 150
"""Held looks at which exits are tuned first; then at twice as many each time, and when newer ones come."""
FIRST_GUESS_S = 0.1
"""Processor seconds of a tuning, until one was made."""
IN_VAIN, OBJECTS_IN_VAIN, MOST_IN_VAIN = 1500, 350, 6000
"""Looks that were held since the newest exits came, and objects that they show, by which nothing pays: it is given up
for a while. So it is after the last number of looks, however few objects they show."""
LEAST_GAIN = 0.1
"""Exits give way to others that spare so much more of the network's work: others have to prove themselves anew, which
takes some hundred looks."""


class ExitWords(NamedTuple):
    """The answers of exits to N looks."""

    place: NDArray[np.int32]
    """The index of the cut whose exit was sure first; the number of cuts: none was."""
    distribution: NDArray[np.float32]
    """N × L; zeros where none was."""


@dataclass(frozen=True)
class ExitsInUse:
    """Exits that may answer once they have proven themselves."""

    number: int
    exits: ExitSet
    thresholds: Sequence[float]
    """One for each exit of the artefact; 0: it is not asked."""
    spared: float
    """Share of the network's work that they are expected to spare."""
    version: int
    data: bytes
    """The artefact that they are of; there may be a newer one."""

    def answers(self, taps: Sequence[NDArray[np.float32]], cuts: Sequence[str]) -> ExitWords:
        """Answer looks that ran on: the first exit that is sure does."""
        count = len(taps[0])
        place, said = np.full(count, len(cuts), np.int32), np.zeros((count, self.exits.classes), np.float32)
        for index, cut in enumerate(cuts):
            exit_, waiting = self.exits.by_cut.get(cut), np.flatnonzero(place == len(cuts))
            if exit_ is None or not len(waiting):
                continue
            found = exit_.look(taps[index][waiting])
            who = waiting[found.hit]
            place[who], said[who] = index, found.distribution[found.hit]
        return ExitWords(place, said)


@dataclass(frozen=True)
class ExitsRequest:
    """The exits that are wanted, and who makes them."""

    subject: Subject
    vocabulary: Vocabulary
    agreement: float
    """The audit's demand."""
    elsewhere: Elsewhere
    held: HeldWindows
    """Keeps the looks that thresholds are tuned on."""
    rule: PoolRule | None = None
    """How the looks of the node are pooled; None: each is answered by itself."""
    teaches: bool = True
    """Whether looks are offered as samples; else exits are there already."""

    def spec(self, cuts: Sequence[ExitCut]) -> ExitsSpec:
        """Exits at these cuts."""
        return ExitsSpec(tuple(cuts), self.vocabulary, self.agreement)


class HeardExits:
    """The newest exits of one request, and the looks that they are tuned on."""

    def __init__(self, request: ExitsRequest, cut: CutOracle, artefact: ExitArtefact | None = None) -> None:
        """``artefact``: exits that are there already. Nothing else is to be called until ``cut`` is open."""
        self.request, self.cut, self._first = request, cut, artefact
        self.version = 0
        """The newest artefact's; 0: none has come."""
        self.artefact: ExitArtefact | None = None
        self.data = b""
        """The newest artefact's, encoded; empty: none has come."""
        self._held, self._held_before, self._due = 0, 0, FIRST_TUNING
        """Looks that were held so far, until the newest exits came, and at which they are tuned next."""
        self._objects = set[str]()
        """Some of the objects that were held since the newest exits came."""
        self.asks = True
        """Whether looks came since exits were asked for last: there may be newer ones."""
        self._work: asyncio.Task[None] | None = None
        self._tuning_s = FIRST_GUESS_S
        self.found: ExitChoice | None = None
        """The result of the last tuning, until it is used; None: nothing pays."""

    @cached_property
    def _spec(self) -> ExitsSpec:
        return self.request.spec(self.cut.places)

    @cached_property
    def _target(self) -> Target:
        return Target(self.request.subject, self._spec)

    @property
    def waits_for(self) -> str:
        """The step that comes next, as long as nothing is in use."""
        if self.artefact is None:
            return "none are made yet"
        return f"{self._held} looks are there to tune them on, and they are tuned next at {self._due}"

    def ask(self, stream: str) -> None:
        """Ask for the exits for a stream, or go on asking; take newer ones."""
        self.asks = False
        self.request.elsewhere.want(self._target, stream)
        update = self.request.elsewhere.newest(self._target)
        if update is None or update.version <= self.version:
            return
        self.version = update.version
        try:
            self._take(ExitArtefact.from_bytes(update.data))
        except ModelError as error:
            log.warning("exits of %s are not used: %s", self.request.subject.node, error)

    def go_on(self, stream: str, words: Collection[int] | None) -> None:
        """Do what is due with a stream's looks: ask for exits, where looks teach any, and tune those that came."""
        if self.request.teaches and self.asks:
            self.ask(stream)
        if self.tuning_is_due:
            self.tune(words)

    def begin(self) -> None:
        """Take the exits that were there from the beginning, with their thresholds where these promise enough."""
        first, self._first = self._first, None
        if first is not None:
            self._take(first)
            if self.artefact is first and first.card.agreement >= self.request.agreement:
                self.found = as_learnt(first, self._spec)

    def heard(self, stream: str, looks: ExitRows, whole: NDArray[np.bool_]) -> None:
        """Take looks of a stream that ran on: as samples for the maker, and to tune exits on.

        ``whole``: N, whether all looks at the object run on. Such objects are a fair sample of all, and nothing is
        missing.
        """
        self.asks = True
        request = self.request
        if request.teaches:
            samples = self._spec.layout.packed(looks)
            request.elsewhere.offer(request.subject, stream, looks.words.tolist(), samples)
        held = looks.of(whole)
        if len(held) and held.shown is not None:
            request.held.add(request.subject, held)
            self._held += len(held)
            if len(self._objects) < OBJECTS_IN_VAIN:
                self._objects.update(held.shown.objects)

    @property
    def tuning_is_due(self) -> bool:
        """Whether enough looks were held since the last tuning, or newer exits have come since."""
        return self._work is None and self.artefact is not None and self._held >= self._due

    @property
    def is_in_vain(self) -> bool:
        """Whether many looks were held since the newest exits came, and nothing that pays was found."""
        tuned, looks = self._work is None and self._due > self._held, self._held - self._held_before
        many = looks >= (IN_VAIN if len(self._objects) >= OBJECTS_IN_VAIN else MOST_IN_VAIN)
        return tuned and self.found is None and many

    def tune(self, words: Collection[int] | None) -> None:
        """Tune in a thread, while looks go on, once that can be paid.

        ``words``: those that the exits may say, None: all.
        """
        request, expected_s = self.request, self._tuning_s
        assert self.artefact is not None
        if not self.cut.budget.reserve(expected_s):
            return
        self._due = max(FIRST_TUNING, 2 * self._held)
        held = request.held.of(request.subject)
        if held is None:  # they had to give way to those of other streams
            self.cut.budget.pay("training", expected_s, 0.0)
            return
        work = partial(chosen_on, held, self.artefact, self._spec, words, self.cut.seconds, request.rule)
        self._work = asyncio.create_task(self._tune(self.artefact, work, expected_s))

    def is_better(self, choice: ExitChoice, used: ExitsInUse | None) -> bool:
        """Whether those in use give way to exits as they were tuned."""
        return used is None or choice.spared >= used.spared + LEAST_GAIN

    def used(self, choice: ExitChoice, number: int) -> ExitsInUse:
        """The newest exits as they were tuned, to be used under a number."""
        assert self.artefact is not None
        asked = {each.tensor: each for each in choice.asked(self.artefact)}
        exits = ExitSet(asked, self.artefact.card.vocabulary.labels)
        return ExitsInUse(number, exits, choice.thresholds, choice.spared, self.version, self.data)

    def try_again(self) -> None:
        """Count anew what is held in vain; the looks so far are kept."""
        self._held_before, self.found = self._held, None
        self._objects.clear()

    def forget_held(self) -> None:
        """Tune on looks to come, not on those so far."""
        self.request.held.forget(self.request.subject)
        self._held, self._due = 0, FIRST_TUNING
        self.try_again()

    def restore(self, version: int, data: bytes, used: SavedExits | None, words: Collection[int]) -> ExitsInUse | None:
        """Go on with exits that were saved; returns those that were in use for these words."""
        try:
            artefact = ExitArtefact.from_bytes(data) if data else None
        except ModelError as error:
            log.warning("exits of %s are not used: %s", self.request.subject.node, error)
            return None
        if artefact is None:
            return None
        self.version = version
        self._take(artefact)
        if self.artefact is None or used is None or len(used.thresholds) != len(artefact.exits):
            return None
        return self.used(ExitChoice(tuple(used.thresholds), tuple(words), used.spared), used.number)

    def close(self) -> None:
        """Give up the looks that are held; a tuning that is under way ends in its thread, and is paid."""
        self.request.held.forget(self.request.subject)

    def _take(self, artefact: ExitArtefact) -> None:
        """Tune these exits from now on; those for another network are refused."""
        why_not = self._spec.why_unfit(artefact.card, self.request.subject.network_identity)
        if why_not is not None:
            log.warning("exits of %s are not used: they are %s", self.request.subject.node, why_not)
            return
        self.artefact, self.data = artefact, artefact.to_bytes()
        self._due = FIRST_TUNING
        self.try_again()

    async def _tune(self, artefact: ExitArtefact, work: Callable[[], ExitChoice | None], expected_s: float) -> None:
        took = ThreadTime()
        try:
            found = await in_thread(took.of(work))
            if artefact is self.artefact:
                self.found = found
        except Exception:
            log.exception("exits of %s cannot be tuned", self.request.subject.node)
        finally:
            self.cut.budget.pay("training", expected_s, took.seconds)
            self._tuning_s, self._work = took.seconds, None
