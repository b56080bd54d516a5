"""The rules of algorithm 5.1 as printed, and the variants of its ablation (Shen, 2019, §5.3.2 and figure 5.5).

Line 20 says S_j, which grows no more in that phase; S is meant. Two things are not the paper's: no window is longer
than ``w_max``, and a head of an earlier epoch for the same classes is used again, which spares these rules a training.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from specialization.rates import Template
from specialization.weg.algorithm import Evidence, Weg
from specialization.weg.candidates import Templates, cheapest, rates_of
from specialization.weg.config import WegConfig
from specialization.weg.state import Head, HeadTarget, WegState

Exit = Literal["accuracy", "skew"]


@dataclass(frozen=True)
class Printed:
    """p* is the share of D among the last w answers, of the oracle or the cascade."""

    config: WegConfig
    templates: Templates
    merge: bool = True
    """False: the window stays as long as w_min (figure 5.5 a)."""
    exit: Exit = "accuracy"
    """``skew``: leave when the skew is lower than on entry (figure 5.5 c)."""

    def open(self, state: WegState) -> list[int]:
        """The last epoch's answers too, if its dominant classes are the same but for τ_r, each way."""
        if not self.merge:
            return state.answers
        before, now = self._dominant(state.previous), self._dominant(state.answers)
        apart = max(len(before - now), len(now - before))
        return [*state.previous, *state.answers] if apart <= self.config.tau_r else state.answers

    def target(self, state: WegState) -> HeadTarget | None:
        """The cheapest template whose cascade is accurate enough for the window's classes."""
        window = state.answers[-state.window :]
        classes = self._dominant(window)
        if not classes:
            return None
        possible = [self._candidate(template, classes, window) for template in self.templates.values()]
        return cheapest(possible)

    def retarget(self, state: WegState) -> HeadTarget | None:
        """No target: the epoch's classes are found anew after the head is left."""
        return None

    def leave(self, state: WegState, evidence: Evidence) -> str | None:
        """Estimated accuracy too low, or too many of the head's answers contradicted."""
        assert state.head
        if state.n_star > self.config.tau_fp * self.config.epsilon * state.n_c:
            return "the oracle contradicts"
        target = state.head.target
        skew = share(state.answers[-state.window :], frozenset(target.classes))
        if self.exit == "skew":
            return "the skew fell" if skew < target.skew else None
        return None if self._accuracy(target, skew) >= self.config.least_accuracy else "the skew fell"

    def wanted(self, state: WegState, target: HeadTarget, known: Head | None) -> None:
        """Nothing is learnt from it."""

    def carry(self, state: WegState) -> list[int]:
        """None: the window begins anew."""
        return []

    def _dominant(self, answers: list[int]) -> frozenset[int]:
        """DOMCLASSES: the classes that appear at least k times."""
        least = self.config.support(len(answers))
        return frozenset(label for label, count in Counter(answers).items() if count >= least)

    def _candidate(self, template: Template, classes: frozenset[int], window: list[int]) -> HeadTarget | None:
        rates, skew = template.rates(len(classes)), share(window, classes)
        if rates is None or rates.accuracy(skew, self.config.oracle_accuracy) < self.config.least_accuracy:
            return None
        return HeadTarget(template.name, tuple(sorted(classes)), skew, template.cascade_cost(rates, skew))

    def _accuracy(self, target: HeadTarget, skew: float) -> float:
        return rates_of(self.templates, target).accuracy(skew, self.config.oracle_accuracy)


def share(answers: list[int], classes: frozenset[int]) -> float:
    """Share of the answers that are in the classes."""
    return sum(answer in classes for answer in answers) / len(answers)


@dataclass(frozen=True, slots=True)
class Action:
    """The way to answer the next object: by the oracle, or by the cascade of a head and the oracle."""

    head: Head | None = None
    audit: bool = False
    """Run the oracle as well if the head answers, and tell whether they agree."""


def next_action(weg: Weg, uniform: float) -> Action:
    """The action for the next object; ``uniform`` is drawn from [0, 1) and decides whether it is audited.

    It is for simulations: where streams run, ``cache_adapt.audit`` draws the audits of all shortcuts.
    """
    head = weg.state.head
    return Action(head, audit=head is not None and uniform < weg.rules.config.epsilon)
