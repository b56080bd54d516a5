"""The skew that a window of answers shows, freed of the errors of those who gave them.

A window's dominant classes were chosen because they appear in it, so their share in it flatters them. Here an answer
counts only if its class would be dominant without that answer: the share that is left has no such bias (it is Good's
estimate of what classes seen k times and more make up: "The population frequencies of species", Biometrika 40, 1953).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from specialization.rates import Rates
from specialization.weg.config import WegConfig
from specialization.weg.dominance import skew_of_answers
from specialization.weg.state import FALLBACK, HEAD, ORACLE, Source

Classes = Collection[int]
SOURCES: tuple[Source, ...] = (ORACLE, HEAD, FALLBACK)


@dataclass(frozen=True)
class AnswerWindow:
    """The last w answers, who gave them, and the classes and rates of the head that gave some."""

    config: WegConfig
    answers: Sequence[int]
    sources: Sequence[Source]
    head: Classes = ()
    rates: Rates | None = None

    @cached_property
    def dominant(self) -> frozenset[int]:
        """DOMCLASSES."""
        return frozenset(label for label, count in self._counts.items() if count >= self._support)

    def skew(self, classes: Classes) -> float:
        """p*: the share of the inputs that is of these classes."""
        found = self._among_asked(classes) + self._among_cascaded(classes)
        return min(found / len(self.answers), 1.0)

    def _among_asked(self, classes: Classes) -> float:
        """Inputs of these classes when the oracle was asked alone (eq. C.1, solved for p)."""
        said = self._by[ORACLE]
        if not said:
            return 0.0
        share = self._counted(said, classes) / said.total()
        config = self.config
        return said.total() * skew_of_answers(share, config.classes, config.oracle_accuracy, len(classes))

    def _among_cascaded(self, classes: Classes) -> float:
        """Inputs of these classes under a head: its own by its rates, others as far as the oracle saw them."""
        by_head, fallback = self._by[HEAD], self._by[FALLBACK]
        total = by_head.total() + fallback.total()
        if self.rates is None or not total:
            return 0.0
        own = total * self.rates.skew(fallback.total() / total)
        # It knows some classes better than others: objects of those it passes on more often are in the fallback.
        known = by_head + Counter({label: fallback[label] for label in self.head})
        kept = self._counted(known, set(classes).intersection(self.head)) / max(known.total(), 1)
        new = self._counted(fallback, set(classes).difference(self.head))
        return own * kept + new / (self.config.oracle_accuracy * self.rates.a_out)

    def _counted(self, said: Counter[int], classes: Classes) -> int:
        return sum(said[label] for label in classes if self._counts[label] > self._support)

    @cached_property
    def _support(self) -> int:
        return self.config.support(len(self.answers))

    @cached_property
    def _counts(self) -> Counter[int]:
        return Counter(self.answers)

    @cached_property
    def _by(self) -> dict[Source, Counter[int]]:
        if self.sources.count(ORACLE) == len(self.sources):  # without a head, and then after every single answer
            return {ORACLE: self._counts, HEAD: Counter(), FALLBACK: Counter()}
        pairs = list(zip(self.answers, self.sources, strict=True))
        return {by: Counter([answer for answer, source in pairs if source == by]) for by in SOURCES}
