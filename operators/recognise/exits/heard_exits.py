"""Exits as they come from their maker, tuned on looks that were made since: for one stream, or for all of a node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.elsewhere import Elsewhere
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import MOST_ROWS
from cache_adapt.learned.heard import HeardLooks
from cache_adapt.learned.pooled import PoolRule
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.saved_state import SavedExits
from operators.recognise.exits.tapped import KEPT, AnswersHeard, TappedLooks
from operators.recognise.exits.tuning import ExitChoice, chosen
from serving.common.threads import ThreadTime, in_thread
from serving.engines.exits import ExitSet
from serving.errors import ModelError

log = logging.getLogger(__name__)

FIRST_TUNING = 150
"""Looks heard since exits were made, at which they are tuned first; then at half as many again each time."""
IN_VAIN = 3000
"""Looks heard of exits, of which none pays, after which it is given up for a while."""
KIND = "exits"
"""The kind of artefact."""
LEAST_GAIN, LEAST_FACTOR = 0.03, 1.5
"""Exits give way to others that spare so much more of the network's work, and so many times as much: others have to
prove themselves anew, which takes some hundred looks."""
LEARNT_MORE, LISTENED, HARDLY_LESS = 1.5, 0.25, 0.8
"""While exits answer, only audits tell of what they answer: too little to judge others by. So where newer ones have
learnt from so many times as many samples, all looks run on, until these were heard at so many looks, as a share of the
samples. They are taken where they spare so much of what those in use spare: those were judged by less."""
LAST_S = 120.0
"""Those that will not be followed by others, as they have learnt from all samples that are taken, are listened to for
so many seconds of the stream where that is longer: the more is heard of exits, the more they may answer."""


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
    samples: int = 0
    """Those that they have learnt from."""

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
    rule: PoolRule | None = None
    """How the looks of the node are pooled; None: each is answered by itself."""

    def spec(self, cuts: Sequence[ExitCut]) -> ExitsSpec:
        """Exits at these cuts."""
        return ExitsSpec(tuple(cuts), self.vocabulary, self.agreement)

    def target(self, spec: ExitsSpec) -> Target:
        return Target(self.subject, KIND, msgspec.json.encode(spec))


class HeardExits:
    """The newest exits of one request, what was heard of them, and those that are in use, perhaps older ones."""

    def __init__(self, request: ExitsRequest, cut: CutOracle, artefact: ExitArtefact | None = None) -> None:
        """``artefact``: exits that are there already. Nothing else is to be called until ``cut`` is open."""
        self.request, self.cut, self._first = request, cut, artefact
        self.version = 0
        """The newest artefact's; 0: none has come."""
        self.artefact: ExitArtefact | None = None
        self.data = b""
        """The newest artefact's, encoded; empty: none has come."""
        self._heard, self._due = AnswersHeard(), FIRST_TUNING
        self.asks = True
        """Whether looks came since exits were asked for last: there may be newer ones."""
        self._began: tuple[str, float] | None = None
        """The first stream that the newest were heard at, and its media time then."""
        self._heard_s = 0.0
        """Media time since then."""
        self._work: asyncio.Task[None] | None = None
        self.found: ExitChoice | None = None
        """The result of the last tuning, until it is used; None: nothing pays."""

    @cached_property
    def _spec(self) -> ExitsSpec:
        return self.request.spec(self.cut.places)

    @cached_property
    def _target(self) -> Target:
        return self.request.target(self._spec)

    @property
    def waits_for(self) -> str:
        """The step that comes next, as long as nothing is in use."""
        if self.artefact is None:
            return "none are made yet"
        return f"they were heard at {self._heard.taken} looks since they were made, and are tuned next at {self._due}"

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

    def begin(self) -> None:
        """Hear the exits that were there from the beginning."""
        if self._first is not None:
            self._take(self._first)
            self._first = None

    def heard(self, looks: TappedLooks) -> None:
        """Take looks that ran on: as samples for the maker, and as what the newest exits are tuned on."""
        self.asks = True
        subject = self.request.subject
        rows = looks.rows
        samples = self._spec.layout.packed(rows.taps, rows.shares, rows.weights)
        self.request.elsewhere.offer(subject, looks.stream, rows.words.tolist(), samples)
        if self.artefact is not None and looks.drawn.any():
            self._hear(self.artefact, looks)

    @property
    def tuning_is_due(self) -> bool:
        """Whether enough looks were heard since the last tuning."""
        return self._work is None and self.artefact is not None and self._heard.taken >= self._due

    @property
    def is_in_vain(self) -> bool:
        """Whether many looks were heard, and nothing that pays was found."""
        tuned = self._work is None and self._due > self._heard.taken
        return tuned and self.found is None and self._heard.taken >= IN_VAIN

    def listens(self, used: ExitsInUse | None) -> bool:
        """Whether all looks are to run on for a while, so that the newest exits are heard at them too."""
        return used is not None and self._have_learnt_more(used.samples) and not self._is_known(self._heard.taken)

    def tune(self, words: Collection[int] | None) -> None:
        """Tune in a thread, while looks go on; ``words``: those that the exits may say, None: all."""
        self._due = self._heard.taken + self._heard.taken // 2
        assert self.artefact is not None
        work = partial(chosen, self.artefact, self._heard.now, self._spec, words, self.cut.seconds, self.request.rule)
        self._work = asyncio.create_task(self._tune(self.artefact, work))

    def is_better(self, choice: ExitChoice, used: ExitsInUse | None) -> bool:
        """Whether those in use give way to exits as they were tuned."""
        if used is None or choice.spared >= LEAST_FACTOR * used.spared + LEAST_GAIN:
            return True
        is_known = self._have_learnt_more(used.samples) and self._is_known(choice.looks)
        return is_known and choice.spared >= HARDLY_LESS * used.spared

    def used(self, choice: ExitChoice, number: int) -> ExitsInUse:
        """The newest exits as they were tuned, to be used under a number."""
        assert self.artefact is not None
        asked = {each.tensor: each for each in choice.asked(self.artefact)}
        exits = ExitSet(asked, self.artefact.card.vocabulary.labels)
        samples = self.artefact.card.samples
        return ExitsInUse(number, exits, choice.thresholds, choice.spared, self.version, self.data, samples)

    def forget_heard(self) -> None:
        """Begin to hear anew."""
        self._heard, self._due, self.found = AnswersHeard(), FIRST_TUNING, None
        self._began, self._heard_s = None, 0.0

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

    async def settled(self) -> None:
        """Return when nothing is being tuned."""
        if self._work is not None:
            await asyncio.wait([self._work])

    def close(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def _take(self, artefact: ExitArtefact) -> None:
        """Hear these exits from now on; those for another network are refused."""
        why_not = self._spec.why_unfit(artefact.card, self.request.subject.network_identity)
        if why_not is not None:
            log.warning("exits of %s are not used: they are %s", self.request.subject.node, why_not)
            return
        self.artefact, self.data = artefact, artefact.to_bytes()
        self.forget_heard()

    def _hear(self, artefact: ExitArtefact, looks: TappedLooks) -> None:
        """Hear exits at the looks at objects of which no look is missing; tune them once enough were heard."""
        drawn, was_known = np.flatnonzero(looks.drawn), self._is_known(self._heard.taken)
        rows = looks.rows.of(drawn).at([self._place(each.tensor) for each in artefact.exits])
        self._heard.add(HeardLooks.of(artefact.exits, rows, looks.shown.at(drawn), self.request.rule))
        stream, began_s = self._began = self._began or (looks.stream, looks.media_time_s)
        if stream == looks.stream:
            self._heard_s = looks.media_time_s - began_s
        if not was_known and self._is_known(self._heard.taken):
            self._due = min(self._due, self._heard.taken)

    def _is_known(self, looks: int) -> bool:
        """Whether the newest exits were heard at so many looks that others can be left for them."""
        assert self.artefact is not None
        samples = self.artefact.card.samples
        is_last = samples >= MOST_ROWS
        long_enough = not is_last or looks >= KEPT or self._heard_s >= LAST_S
        return long_enough and looks >= max(FIRST_TUNING, LISTENED * samples)

    def _have_learnt_more(self, samples: int) -> bool:
        return self.artefact is not None and self.artefact.card.samples >= LEARNT_MORE * samples

    def _place(self, tensor: str) -> int:
        return next(place for place, cut in enumerate(self._spec.cuts) if cut.tensor == tensor)

    async def _tune(self, artefact: ExitArtefact, work: Callable[[], ExitChoice | None]) -> None:
        took = ThreadTime()
        try:
            found = await in_thread(took.of(work))
            if artefact is self.artefact:
                self.found = found
        finally:
            self.cut.budget.spend("training", took.seconds)
            self._work = None
