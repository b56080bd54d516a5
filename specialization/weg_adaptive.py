"""Our rules for Windowed ε-Greedy: where they depart from the printed ones, and why.

* The skew is freed of the errors of whoever answered (eq. C.1 and the head's rates, inverted): an oracle that is right
  in 60 % of the cases shows a skew of 90 % as 54 %.
* Windows of doubling length up to w_max are tried, each with the k that its length allows: ten classes are rarely seen
  twice each within 30 answers (table C.1, row 2).
* A head is left when a sequential test says so, of the share of its answers or of the audits, not when an estimate from
  a few answers crosses a line; and also when the cascade costs more than the oracle, which the paper does not ask.
* The oracle's answers on "other" show which dominant classes a head misses: a better one is asked for while the old one
  goes on. What it would have saved so far must have paid for its training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from specialization.accuracy_estimate import Rates, Template
from specialization.cusum import evidence as cusum
from specialization.cusum import threshold
from specialization.dominance import dominant_classes, skew_of_answers
from specialization.weg import Evidence
from specialization.weg_config import WegConfig
from specialization.weg_state import Target, WegState

LEAST_DIFFERENCE = 0.1
"""Between what is expected and what is feared: a test for less takes longer than a window."""


@dataclass(frozen=True)
class Adaptive:
    """See above."""

    config: WegConfig
    templates: Mapping[str, Template]

    def open(self, state: WegState) -> list[int]:
        """What is there; longer windows come with time."""
        return state.answers

    def target(self, state: WegState) -> Target | None:
        """Of all windows and templates the cheapest cascade that is accurate enough."""
        possible = [target for window in self._windows(state.answers) for target in self._targets(window)]
        return min(possible, key=lambda target: target.cost, default=None)

    def retarget(self, state: WegState) -> Target | None:
        """The cheapest cascade for the classes now dominant, if this head has cost that much more than it would."""
        assert state.head
        if state.by_head[-1] or state.under_head < self.config.w_min:
            return None
        now, rates = state.head.target, self._rates(state.head.target)
        last = min(state.under_head, self.config.w_max)
        answers, by_head = state.answers[-last:], state.by_head[-last:]
        skew = rates.skew(1 - sum(by_head) / last)
        template = self.templates[now.template]
        limit = template.cascade_cost(rates, skew) - self.config.retarget_cost / state.under_head
        counts = Counter(answers)
        classes = dominant_classes(answers, self.config.support(last))
        if not classes or classes == set(now.classes):
            return None
        kept = sum(counts[label] for label in now.classes)
        still = sum(counts[label] for label in classes.intersection(now.classes)) / kept if kept else 0
        new = sum(counts[label] for label in classes.difference(now.classes)) / last
        skew = min(skew * still + new / (self.config.oracle_accuracy * rates.a_out), 1.0)
        return min(
            (t for t in self._candidates(classes, skew) if t.cost < limit), key=lambda target: target.cost, default=None
        )

    def leave(self, state: WegState, evidence: Evidence) -> str | None:
        """The head answers too rarely, or is contradicted too often."""
        assert state.head
        target, rates = state.head.target, self._rates(state.head.target)
        alarm = threshold(self.config.false_alarm)
        if evidence in ("agreed", "contradicted"):
            expected = self._contradicted(target, rates)
            feared = max(self.config.tau_fp, (1 + expected) / 2)
            state.contradicted = cusum(state.contradicted, evidence == "contradicted", expected, feared)
            return "the oracle contradicts" if state.contradicted > alarm else None
        expected = rates.cascaded(target.skew)
        feared = min(max(rates.cascaded(self._least_skew(target, rates)), expected + LEAST_DIFFERENCE), 0.99)
        state.falling = cusum(state.falling, evidence == "oracle answered", expected, feared)
        state.calm = state.calm + 1 if state.falling else 0
        return "the skew fell" if state.falling > alarm else None

    def carry(self, state: WegState) -> list[int]:
        """The oracle's answers since the head began to answer too rarely."""
        since = max(0, len(state.answers) - state.calm)
        pairs = zip(state.answers[since:], state.by_head[since:], strict=True)
        return [answer for answer, by_head in pairs if not by_head]

    def _windows(self, answers: list[int]) -> Iterator[list[int]]:
        length = self.config.w_min
        while length <= len(answers):
            yield answers[-length:]
            length *= 2

    def _targets(self, window: list[int]) -> Iterator[Target]:
        classes = dominant_classes(window, self.config.support(len(window)))
        if classes:
            share = sum(answer in classes for answer in window) / len(window)
            skew = skew_of_answers(share, self.config.classes, self.config.oracle_accuracy, len(classes))
            yield from self._candidates(classes, skew)

    def _candidates(self, classes: frozenset[int], skew: float) -> Iterator[Target]:
        for template in self.templates.values():
            rates = template.rates(len(classes))
            if rates is None or rates.accuracy(skew, self.config.oracle_accuracy) < self.config.least_accuracy:
                continue
            cost = template.cascade_cost(rates, skew)
            if (1 - cost) * self.config.w_max > self.config.retarget_cost:
                yield Target(template.name, tuple(sorted(classes)), skew, cost)

    def _rates(self, target: Target) -> Rates:
        rates = self.templates[target.template].rates(len(target.classes))
        assert rates
        return rates

    def _least_skew(self, target: Target, rates: Rates) -> float:
        a = self.config.oracle_accuracy
        low, high = rates.accuracy(0, a), rates.accuracy(1, a)
        accurate = (self.config.least_accuracy - low) / (high - low) if high > low else 0.0
        cheap = rates.skew(1 - self.templates[target.template].cost)
        return min(max(accurate, cheap, 0.0), 1.0)

    def _contradicted(self, target: Target, rates: Rates) -> float:
        answered = 1 - rates.cascaded(target.skew)
        return 1 - self.config.oracle_accuracy * target.skew * rates.a_in / answered
