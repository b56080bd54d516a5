"""Windowed ε-Greedy: when to specialise to which classes, and when to stop (Shen, 2019, §5.3.2, algorithm 5.1).

Each stream and node has one ``Weg``. The caller asks ``state.head`` about an object where there is one, else the
oracle, and reports the outcome. ``Weg`` runs nothing itself: when ``state.wanted`` names a head, the caller trains it
and calls ``head_arrived``; until then the oracle goes on, or the head in use. Outcomes may come late: a head no longer
in use ignores them. Outcomes are taken for independent observations: an object that is seen in many frames is reported
now and then only.

Line 18 of the printed algorithm inverts its condition: an audit is made of answers that did *not* come from the oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import structs

from specialization.rates import Rates, Template
from specialization.weg.config import WegConfig
from specialization.weg.state import FALLBACK, HEAD, ORACLE, Head, HeadTarget, Source, WegState

Evidence = Literal["head answered", "oracle answered", "known", "unknown", "agreed", "contradicted"]
"""The source of a cascade's answer; whether a head that is not heard knows the class; or the outcome of an audit."""


class Rules(Protocol):
    """The decisions of the algorithm; nothing is kept outside the state."""

    @property
    def config(self) -> WegConfig:
        """The hyper-parameters."""

    @property
    def templates(self) -> Mapping[str, Template]:
        """Compact networks by name."""

    def open(self, state: WegState) -> list[int]:
        """Return the answers that the epoch begins with; called when there are w_min answers (lines 5 and 6)."""

    def target(self, state: WegState) -> HeadTarget | None:
        """Return the target to specialise to, if any; called while the oracle answers (lines 8 to 10)."""

    def retarget(self, state: WegState) -> HeadTarget | None:
        """Return a target so much better that training pays, if any; called while a head is in use."""

    def leave(self, state: WegState, evidence: Evidence) -> str | None:
        """Return why to leave the head in use, if so; called with all evidence on it (lines 20 and 21)."""

    def wanted(self, state: WegState, target: HeadTarget, known: Head | None) -> None:
        """Called with what ``target`` or ``retarget`` gave, and the head that is there for it, if any."""

    def carry(self, state: WegState) -> list[int]:
        """Return the answers that the next window begins with; called when a head is left."""


class Weg:
    """The algorithm under the given rules; everything it knows is in ``state``.

    >>> small = Template("small", 0.1, {1: Rates(a_in=0.98, e_in_out=0.01, a_out=0.95)})
    >>> rules = Adaptive(WegConfig(classes=10, tau_a=-0.1), {"small": small})
    >>> weg = Weg(rules)
    >>> for _ in range(30):
    ...     weg.oracle_answered(label=7)
    >>> weg.state.wanted.target.classes
    (7,)
    >>> weg.head_arrived(weg.state.wanted.number)
    >>> weg.state.head.target.template
    'small'
    """

    def __init__(self, rules: Rules, state: WegState | None = None) -> None:
        """``state``: an earlier state; heads of templates that are gone or do not know so many classes are dropped."""
        self.rules = rules
        self.state = state or WegState()
        self._unsought = 0
        """Answers since a head was sought last."""
        for head in (*self.state.known, self.state.head, self.state.wanted):
            if head and not self._is_known(head.target):
                self.head_failed(head.number)

    def oracle_answered(self, label: int) -> None:
        """Record an answer of the oracle when it was asked alone."""
        state = self.state
        if state.head:
            return
        self._append(label, ORACLE)
        if state.window == 0 and len(state.answers) >= self.rules.config.w_min:
            self._open_epoch()
        if state.window and not state.wanted and self._seeks():
            self._want(self.rules.target(state))

    def cascade_answered(self, number: int, label: int, by_head: bool, unseen: bool = False) -> str | None:
        """Record an answer of a cascade; ``by_head``: without the oracle. Returns why its head is left, if it is.

        ``unseen``: it is in the shadow, the oracle has answered; ``by_head`` says whether the head knows the class.
        """
        state = self.state
        if not state.head or state.head.number != number:
            return None
        self._append(label, ORACLE if unseen else HEAD if by_head else FALLBACK)
        state.n_c += by_head
        if unseen:
            left = self._leave("known" if by_head else "unknown")
        else:
            left = self._leave("head answered" if by_head else "oracle answered")
        if not left and not state.wanted and self._seeks():
            self._want(self.rules.retarget(state))
        return left

    def audited(self, number: int, agrees: bool) -> str | None:
        """Record the audit of a head's answer. Returns why the head is left, if it is."""
        state = self.state
        if not state.head or state.head.number != number:
            return None
        state.n_star += not agrees
        left = self._leave("agreed" if agrees else "contradicted")
        if left:
            self._forget(number)
        return left

    def head_arrived(self, number: int, rates: Rates | None = None) -> None:
        """Use the wanted head from the next object on; a head that is not wanted is ignored. ``rates``: its own."""
        wanted = self.state.wanted
        if wanted and wanted.number == number:
            self.state.wanted = None
            self._use(structs.replace(wanted, rates=rates))

    def head_renewed(self, number: int, rates: Rates | None = None) -> int:
        """Put a later version of a known head in its place, under the next number, which is returned.

        Evidence on the former version says nothing about it.
        """
        state = self.state
        state.numbers += 1
        old = [head for head in state.known if head.number == number]
        fresh = [structs.replace(head, number=state.numbers, rates=rates) for head in old]
        state.known = [head for head in state.known if head.number != number] + fresh
        if state.head and state.head.number == number:
            state.head = fresh[0]
            self._reset_evidence()
        return state.numbers

    def head_failed(self, number: int) -> None:
        """Forget a head that could not be trained or is lost; without it, a new window begins."""
        state = self.state
        self._forget(number)
        if state.wanted and state.wanted.number == number:
            state.wanted = None
            if not state.head:
                self._new_window([])
        if state.head and state.head.number == number:
            self._new_window([])

    def _seeks(self) -> bool:
        """Whether it is time to look for a head."""
        self._unsought += 1
        due = self._unsought >= self.rules.config.sought_every
        if due:
            self._unsought = 0
        return due

    def _is_known(self, target: HeadTarget) -> bool:
        template = self.rules.templates.get(target.template)
        return template is not None and template.rates(len(target.classes)) is not None

    def _append(self, label: int, source: Source) -> None:
        state, most = self.state, self.rules.config.w_max
        state.answers.append(label)
        state.sources.append(source)
        del state.answers[:-most], state.sources[:-most]

    def _open_epoch(self) -> None:
        state = self.state
        state.answers = self.rules.open(state)[-self.rules.config.w_max :]
        state.sources = [ORACLE] * len(state.answers)
        state.window = len(state.answers)

    def _want(self, target: HeadTarget | None) -> None:
        state = self.state
        if target is None:
            return
        known = [head for head in state.known if same(head.target, target) and head != state.head]
        self.rules.wanted(state, target, known[-1] if known else None)
        if known:
            self._use(known[-1])
            return
        state.numbers += 1
        skew = self.rules.config.training_skew
        state.wanted = Head(state.numbers, target, target.skew if skew is None else skew)

    def _use(self, head: Head) -> None:
        state, kept = self.state, self.rules.config.heads_kept
        if not state.head:
            state.previous = list(state.answers)
        state.head = head
        known = [*(other for other in state.known if other.number != head.number), head]
        state.known = known[max(0, len(known) - kept) :]
        self._reset_evidence()

    def _forget(self, number: int) -> None:
        self.state.known = [head for head in self.state.known if head.number != number]

    def _leave(self, evidence: Evidence) -> str | None:
        reason = self.rules.leave(self.state, evidence)
        if reason:
            self._new_window(self.rules.carry(self.state))
            self.state.epoch += 1
        return reason

    def _new_window(self, answers: list[int]) -> None:
        state = self.state
        state.head, state.wanted, state.window = None, None, 0
        state.answers, state.sources = answers, [ORACLE] * len(answers)
        self._reset_evidence()

    def _reset_evidence(self) -> None:
        state = self.state
        state.n_c = state.n_star = state.falling_for = 0
        state.falling = state.contradicted = 0.0


def same(one: HeadTarget, other: HeadTarget) -> bool:
    """Whether a head for one serves the other."""
    return (one.template, one.classes) == (other.template, other.classes)
