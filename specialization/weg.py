"""Windowed ε-Greedy: when to specialise to which classes, and when to stop (Shen, 2019, §5.3.2, algorithm 5.1).

One ``Weg`` per stream and node. Ask it for an ``action`` before every object and tell it what came of it. It runs
nothing itself: when ``state.wanted`` names a head, somebody trains it and says ``head_arrived``; until then the oracle
goes on, or the head in use. Outcomes may come late: those of a head that is no longer in use change nothing. Outcomes
are taken for independent observations: of an object that is seen in many frames, tell now and then only.

Line 18 of the printed algorithm inverts its condition: an audit is made of answers that did *not* come from the oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from specialization.accuracy_estimate import Template
from specialization.weg_config import WegConfig
from specialization.weg_state import FALLBACK, HEAD, ORACLE, Action, Head, Source, Target, WegState

Evidence = Literal["head answered", "oracle answered", "agreed", "contradicted"]
"""Of a cascade: who gave the answer; or what an audit found."""


class Rules(Protocol):
    """The decisions of the algorithm; nothing is kept outside the state."""

    @property
    def config(self) -> WegConfig:
        """The hyper-parameters."""

    @property
    def templates(self) -> Mapping[str, Template]:
        """Compact networks by name."""

    def open(self, state: WegState) -> list[int]:
        """Called when w_min answers are there: the answers that the epoch begins with (lines 5 and 6)."""

    def target(self, state: WegState) -> Target | None:
        """Called while the oracle answers: what to specialise to, if anything (lines 8 to 10)."""

    def retarget(self, state: WegState) -> Target | None:
        """Called while a head is in use: what is so much better that training it pays, if anything."""

    def leave(self, state: WegState, evidence: Evidence) -> str | None:
        """Called with all evidence on the head in use: why to leave it, if so (lines 20 and 21)."""

    def wanted(self, state: WegState, target: Target, known: Head | None) -> None:
        """Called with what ``target`` or ``retarget`` gave, and the head that is there for it, if any."""

    def carry(self, state: WegState) -> list[int]:
        """Called when a head is left: the answers that the next window has already."""


class Weg:
    """The algorithm under the given rules; everything it knows is in ``state``."""

    def __init__(self, rules: Rules, state: WegState | None = None) -> None:
        """``state``: to go on with; heads of templates that are gone, or not known for so many classes, are dropped."""
        self.rules = rules
        self.state = state or WegState()
        for head in (*self.state.known, self.state.head, self.state.wanted):
            if head and not self._is_known(head.target):
                self.head_failed(head.number)

    def action(self, uniform: float) -> Action:
        """What to run on the next object; ``uniform`` is drawn from [0, 1) and decides whether it is audited."""
        head = self.state.head
        return Action(head, audit=head is not None and uniform < self.rules.config.epsilon)

    def oracle_answered(self, label: int) -> None:
        """The oracle was asked alone."""
        state = self.state
        if state.head:
            return
        self._append(label, ORACLE)
        if state.window == 0 and len(state.answers) >= self.rules.config.w_min:
            self._open_epoch()
        if state.window and not state.wanted:
            self._want(self.rules.target(state))

    def cascade_answered(self, number: int, label: int, by_head: bool) -> str | None:
        """A cascade answered; ``by_head``: without the oracle. Returns why its head is left, if it is."""
        state = self.state
        if not state.head or state.head.number != number:
            return None
        self._append(label, HEAD if by_head else FALLBACK)
        state.n_c += by_head
        left = self._leave("head answered" if by_head else "oracle answered")
        if not left and not state.wanted:
            self._want(self.rules.retarget(state))
        return left

    def audited(self, number: int, agrees: bool) -> str | None:
        """The oracle was asked what a head had answered. Returns why the head is left, if it is."""
        state = self.state
        if not state.head or state.head.number != number:
            return None
        state.audits += 1
        state.n_star += not agrees
        left = self._leave("agreed" if agrees else "contradicted")
        if left:
            self._forget(number)
        return left

    def head_arrived(self, number: int) -> None:
        """The wanted head is trained; it is used from the next object on. One that is not wanted is ignored."""
        wanted = self.state.wanted
        if wanted and wanted.number == number:
            self.state.wanted = None
            self._use(wanted)

    def head_failed(self, number: int) -> None:
        """The head could not be trained, or is lost; without it, a new window begins."""
        state = self.state
        self._forget(number)
        if state.wanted and state.wanted.number == number:
            state.wanted = None
            if not state.head:
                self._new_window([])
        if state.head and state.head.number == number:
            self._new_window([])

    def _is_known(self, target: Target) -> bool:
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

    def _want(self, target: Target | None) -> None:
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
        state.n_c = state.audits = state.n_star = state.falling_for = 0
        state.falling = state.contradicted = 0.0


def same(one: Target, other: Target) -> bool:
    """Whether a head for one serves the other."""
    return (one.template, one.classes) == (other.template, other.classes)
