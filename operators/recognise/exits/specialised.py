"""The exits of one stream: WEG says when they are made, for which classes, and when they are left (Shen, 2019, §5.3.2).

WEG's "head" is a stream's exits with the classes that they may say; its one template is the cut oracle.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from cache_adapt.adaptation.targets import Subject
from operators.recognise.exits import expected
from operators.recognise.exits.account import ExitAccount
from operators.recognise.exits.saved_state import MOST_ARTEFACT_BYTES, SavedExits, SpecialisedState
from serving.errors import Malformed
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Weg
from specialization.weg.config import WegConfig

if TYPE_CHECKING:
    from cache_adapt.learned.rows import ExitRows
    from operators.recognise.exits.heard_exits import ExitsInUse, HeardExits

log = logging.getLogger(__name__)

PROVABLE = 0.8
"""Share of the disagreement that the audit allows, at which exits aim: what hardly holds is proven late or never."""
MOST_WINDOW, SOUGHT_EVERY = 480, 4
PROOF = 150
"""Answers during which exits that take the place of others spare nothing."""


@lru_cache(maxsize=16)
def rules(words: int, accuracy: float, lent: bool = False) -> Adaptive:
    """WEG's configuration for a node whose oracle says so many words, ``unknown`` among them.

    ``lent``: the exits are in another network, and the oracle is on another machine.
    """
    tolerance = 1 - accuracy
    config = WegConfig(
        classes=max(words, 2),
        p_out=None,
        tau_a=-tolerance,
        least_agreement=1 - PROVABLE * tolerance,
        w_max=MOST_WINDOW,
        proof=PROOF,
        sought_every=SOUGHT_EVERY,
    )
    template = expected.lent(words) if lent else expected.own(words)
    return Adaptive(config, {template.name: template})


class SpecialisedStream:
    """One stream."""

    def __init__(
        self,
        subject: Subject,
        words: tuple[str, ...],
        weg: Adaptive,
        tuned: Callable[[Subject], HeardExits],
        made: Callable[[tuple[str, ...], bool], None],
    ) -> None:
        """``weg``: see ``rules``; ``tuned``: makes what has exits made and tunes them, once they are wanted.

        ``made``: called with the classes of exits that were tuned, and whether they serve.
        """
        self._subject, self.words, self._made, self._tuner = subject, words, made, tuned
        self._name = f"stream {subject.stream}, node {subject.node}"
        self._tuned: HeardExits | None = None
        self._numbers = {word: number for number, word in enumerate(words)}
        self.weg = Weg(weg)
        self.account = ExitAccount()
        self._kept: dict[int, ExitsInUse] = {}
        """The exits of the heads that WEG knows, by their numbers."""
        self._saved: SpecialisedState | None = None
        """The state of another worker, until the cut oracle is open."""
        self.reason: str | None = None

    @property
    def tuned(self) -> HeardExits:
        """The exits that are made for the stream; nothing of that is there before it is asked for."""
        if self._tuned is None:
            self._tuned = self._tuner(self._subject)
        return self._tuned

    @property
    def in_use(self) -> ExitsInUse | None:
        """The exits that answer, or prove themselves; None: the oracle alone answers."""
        head = self.weg.state.head
        return None if head is None else self._kept.get(head.number)

    @property
    def wants_taps(self) -> bool:
        """Whether looks are wanted that run on: exits are asked for, or are to be renewed."""
        state = self.weg.state
        return self.account.may_try and (state.wanted is not None or state.head is not None)

    def took(self, looks: ExitRows, whole: NDArray[np.bool_]) -> None:
        """Take looks that ran on; ``whole``: see ``HeardExits``."""
        self.tuned.heard(self._subject.stream, looks, whole)

    def answered(self, word: str, by_exit: bool, shadow: bool, number: int | None) -> None:
        """Take the answer for an object; ``number``: of the exits that were asked, None: the oracle alone was.

        ``shadow``: the oracle has answered, beside exits that have yet to prove themselves.
        """
        label = self._numbers.get(word)
        if label is None:
            return  # a word of a variant that the oracle does not know
        head = self.weg.state.head
        if number is None or head is None or head.number != number:
            self.weg.oracle_answered(label)
        else:
            knows = label in head.target.classes
            self._log(self.weg.cascade_answered(number, label, knows if shadow else by_exit, unseen=shadow))
        if self.weg.state.wanted and not self.account.may_try:
            self.weg.head_failed(self.weg.state.wanted.number)

    def audited(self, number: int, agrees: bool) -> None:
        """Take an audit of an answer of these exits."""
        self._log(self.weg.audited(number, agrees))

    def barred(self) -> None:
        """The audit has switched the exits off."""
        state = self.weg.state
        for head in [*state.known, *([state.wanted] if state.wanted else [])]:
            self.weg.head_failed(head.number)
        self.leave("its audit has switched it off")
        if self._tuned is not None:
            self._tuned.forget_held()

    def leave(self, why: str) -> None:
        """The exits do not answer any more."""
        log.info("%s: its exits are left: %s", self._name, why)
        if self.weg.state.head:
            self.weg.head_failed(self.weg.state.head.number)
        self.account.left(gained=False)
        self._forget_unknown()

    def go_on(self) -> bool:
        """Ask for exits, tune those that came, and use them where they serve; whether others are in use now.

        To be called once the network is cut.
        """
        state, head = self.weg.state, self.weg.state.wanted or self.weg.state.head
        if head is None or not self.account.may_try:
            return False
        if self._saved is not None:
            self._restore_exits(self._saved)
            self._saved = None
            return self.in_use is not None
        self.tuned.go_on(self._subject.stream, head.target.classes)
        if self.tuned.is_in_vain and self.in_use is None:
            self._give_up("they would save too little")
            return False
        found, self.tuned.found = self.tuned.found, None
        if found is None or found.words != head.target.classes:
            return False
        better = self.tuned.is_better(found, self.in_use)
        self._made(tuple(self.words[each] for each in head.target.classes), better)
        if better:
            number = head.number if state.wanted is not None else self.weg.head_renewed(head.number, found.rates)
            self._kept[number] = self.tuned.used(found, number)
            self.weg.head_arrived(number, found.rates)
        elif state.wanted is not None:
            self.weg.head_failed(head.number)
        self._forget_unknown()
        return better

    def state(self) -> SpecialisedState:
        """The state with which another worker can go on."""
        if self._saved is not None:
            return replace(self._saved, weg=self.weg.state, account=self.account)
        used, subject = self.in_use, self._subject
        saved = None if used is None else SavedExits(used.number, list(used.thresholds), used.spared)
        exits = used or self._tuned
        version, data = (0, b"") if exits is None else (exits.version, exits.data)
        if len(data) > MOST_ARTEFACT_BYTES:  # more than a message holds: they are made anew there
            version, data, saved = 0, b"", None
        return SpecialisedState(
            self.weg.state, self.account, subject.network_identity, subject.labels, version, data, saved
        )

    def restore(self, state: SpecialisedState) -> None:
        """Go on from a state; exits that are damaged or belong to another network are asked for anew.

        Raises Malformed where it is of another network, or tells of words that there are not.
        """
        subject = self._subject
        if state.labels != subject.labels or state.identity != subject.network_identity:
            raise Malformed("it is of other words, or of another network")
        if not state.knows_only(len(self.words)):
            raise Malformed("it tells of words that the network does not say")
        self.account, self.weg, self._saved = state.account, Weg(self.weg.rules, state.weg), state

    def close(self) -> None:
        """Give up the looks that are held."""
        if self._tuned is not None:
            self._tuned.close()

    def _restore_exits(self, state: SpecialisedState) -> None:
        head = self.weg.state.head
        saved = state.in_use
        used = saved if head is not None and saved is not None and saved.number == head.number else None
        found = self.tuned.restore(state.version, state.artefact, used, head.target.classes if head else ())
        for known in self.weg.state.known.copy():
            if head is not None and known.number == head.number and found is not None:
                self._kept[known.number] = found
            else:
                self.weg.head_failed(known.number)

    def _forget_unknown(self) -> None:
        known = {head.number for head in self.weg.state.known}
        self._kept = {number: used for number, used in self._kept.items() if number in known}

    def _give_up(self, why: str) -> None:
        """Exits that were asked for do not serve: WEG asks again after a while."""
        wanted = self.weg.state.wanted
        if wanted is not None:
            self.reason = f"exits for {', '.join(self.words[each] for each in wanted.target.classes)}: {why}"
            self._made(tuple(self.words[each] for each in wanted.target.classes), False)
            self.weg.head_failed(wanted.number)
        self.account.left(gained=False)
        self.tuned.try_again()

    def _log(self, why: str | None) -> None:
        if why:
            log.info("%s: its exits are left: %s", self._name, why)
            self.account.left(gained=True)
