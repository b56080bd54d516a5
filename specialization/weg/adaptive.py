"""Our rules for Windowed ε-Greedy: where they depart from the printed ones, and why.

* The skew is freed of the errors of the answers, and of the choice of the classes (``weg_window``): an oracle that
  is right in 60 % of the cases shows a skew of 90 % as 54 %.
* Windows of doubling length up to w_max are tried, each with the k that its length allows: ten classes are rarely seen
  twice each within 30 answers (table C.1, row 2).
* A head is left when a sequential test says so, of the share of its answers or of the audits, not when an estimate from
  a few answers crosses a line; and also when the cascade costs more than the oracle, which the paper does not ask.
* The oracle's answers on "other" show which dominant classes a head misses: a better one is asked for while the old one
  goes on. What it would have saved within a window must have paid for its training.
* A head of an earlier epoch that serves is used at once. If it is the one just left, leaving it was wrong, and the
  tests ask for more evidence from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from specialization.rates import Rates
from specialization.weg.algorithm import Evidence
from specialization.weg.candidates import Candidates, Templates, cheapest, rates_of_head
from specialization.weg.change import accumulate, contradictions, fallbacks, threshold
from specialization.weg.config import WegConfig
from specialization.weg.state import HEAD, MOST_CAUTION, Head, HeadTarget, WegState

PERFECT = Rates(a_in=1.0, e_in_out=0.0, a_out=1.0)
"""The rates of a head whose answers are not measured: only its classes are known."""


@dataclass(frozen=True)
class Adaptive:
    """Our rules, as the module's text gives them."""

    config: WegConfig
    templates: Templates

    def open(self, state: WegState) -> list[int]:
        """The present answers; longer windows come with time."""
        return state.answers

    def target(self, state: WegState) -> HeadTarget | None:
        """The cheapest known head that serves; else the cheapest target of all windows and templates that would."""
        if is_new(state):
            return None
        windows = list(self._candidates.windows(state))
        there = (self._candidates.again(window, head) for window in windows[:1] for head in state.known)
        return cheapest(there) or cheapest(target for window in windows for target in self._candidates.of(window))

    def retarget(self, state: WegState) -> HeadTarget | None:
        """The cheapest target, if the present head has cost so much more within the window that training pays."""
        assert state.head
        now = state.head
        if state.answers[-1] in now.target.classes or is_new(state):
            return None
        windows = self._candidates.windows(state)
        return cheapest(target for window in windows for target in self._candidates.better(window, now))

    def wanted(self, state: WegState, target: HeadTarget, known: Head | None) -> None:
        """Raise the caution if the next window asks again for the head just left, and note the cost of training."""
        if not state.head:
            again = known is not None and state.known[-1] == known
            state.caution = min(2 * state.caution, MOST_CAUTION) if again else max(state.caution / 2, 1.0)
        if not known:
            state.debt += self.config.retarget_cost

    def leave(self, state: WegState, evidence: Evidence) -> str | None:
        """Leave a head that answers too rarely, or is contradicted too often."""
        assert state.head
        alarm = threshold(self.config.false_alarm) * state.caution
        if evidence in ("agreed", "contradicted"):
            self._audit(state, state.head, evidence == "contradicted")
            return "the oracle contradicts" if state.contradicted > alarm else None
        if evidence in ("known", "unknown"):
            self._fall(state, state.head, PERFECT, evidence == "unknown")
        else:
            self._answer(state, state.head, evidence == "oracle answered")
        return "the skew fell" if state.falling > alarm else None

    def carry(self, state: WegState) -> list[int]:
        """The oracle's answers since the head began to answer too rarely."""
        since = max(0, len(state.answers) - state.falling_for)
        pairs = zip(state.answers[since:], state.sources[since:], strict=True)
        return [answer for answer, source in pairs if source != HEAD]

    def _answer(self, state: WegState, head: Head, fell_back: bool) -> None:
        template = self.templates[head.target.template]
        spared = 1 - template.passed if fell_back else 1.0
        state.debt = max(0.0, state.debt - spared + template.cost)
        self._fall(state, head, rates_of_head(self.templates, head), fell_back)

    def _fall(self, state: WegState, head: Head, rates: Rates, fell_back: bool) -> None:
        template = self.templates[head.target.template]
        state.falling = accumulate(state.falling, fell_back, *fallbacks(self.config, template, rates, head.target))
        state.falling_for = state.falling_for + 1 if state.falling else 0

    def _audit(self, state: WegState, head: Head, contradicted: bool) -> None:
        hypotheses = contradictions(self.config, rates_of_head(self.templates, head), head.target)
        state.contradicted = accumulate(state.contradicted, contradicted, *hypotheses)

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates(self.config, self.templates)


def is_new(state: WegState) -> bool:
    """Whether the newest answer was not given before: it cannot make any target better."""
    return state.answers[-1] not in state.answers[:-1]
