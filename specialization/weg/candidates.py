"""Finds heads that would serve, from a window of answers: template selection (Shen, 2019, §5.3.2, phase 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from specialization.rates import Rates, Template
from specialization.weg.config import WegConfig
from specialization.weg.state import Head, HeadTarget, WegState
from specialization.weg.window import AnswerWindow

Templates = Mapping[str, Template]


@dataclass(frozen=True)
class Candidates:
    """Heads that would be accurate enough, and whose training would have been paid for within the window."""

    config: WegConfig
    templates: Templates

    def windows(self, state: WegState) -> Iterator[AnswerWindow]:
        """The newest answers, in windows of doubling length; the more training has cost in vain, the longer the first.

        That slows down where heads do not pay: in streams of long runs of one class, say, which look skewed.
        """
        attempts = 1 + state.debt / max(self.config.retarget_cost, 1.0)
        length = min(round(self.config.w_min * attempts), self.config.w_max)
        head = state.head.target.classes if state.head else ()
        rates = rates_of_head(self.templates, state.head) if state.head else None
        while length <= len(state.answers):
            yield AnswerWindow(self.config, state.answers[-length:], state.sources[-length:], head, rates)
            length *= 2

    def of(self, window: AnswerWindow, present_cost: float = 1.0) -> Iterator[HeadTarget]:
        """A target for every template that serves the window's dominant classes at less than ``present_cost``."""
        classes = window.dominant
        if classes:
            limit = present_cost - self.config.retarget_cost / len(window.answers)
            yield from self._serving(self.templates.values(), classes, window.skew(classes), limit)

    def better(self, window: AnswerWindow, now: Head) -> Iterator[HeadTarget]:
        """Targets that would serve better than the present head."""
        template, rates = self.templates[now.target.template], rates_of_head(self.templates, now)
        cost = template.cascade_cost(rates, window.skew(now.target.classes))
        lost = self.config.proof * max(1 - cost, 0.0) / len(window.answers)
        return self.of(window, cost - lost)

    def again(self, window: AnswerWindow, head: Head) -> HeadTarget | None:
        """The target of a known head, if it still serves."""
        limit, classes = 1 - self.config.retarget_cost / self.config.w_max, head.target.classes
        template, rates = self.templates[head.target.template], rates_of_head(self.templates, head)
        return self._target(template, rates, classes, window.skew(classes), limit)

    def _serving(
        self, templates: Iterable[Template], classes: Collection[int], skew: float, limit: float
    ) -> Iterator[HeadTarget]:
        for template in templates:
            rates = template.rates(len(classes))
            target = self._target(template, rates, classes, skew, limit) if rates else None
            if target:
                yield target

    def _target(
        self, template: Template, rates: Rates, classes: Collection[int], skew: float, limit: float
    ) -> HeadTarget | None:
        """The target, if heads with these rates are right often enough, and cheaper than the limit."""
        accurate = rates.accuracy(skew, self.config.oracle_accuracy) >= self.config.least_accuracy
        agrees = rates.agreement(skew) >= self.config.least_agreement
        cost = template.cascade_cost(rates, skew)
        if not (accurate and agrees and cost < limit):
            return None
        return HeadTarget(template.name, tuple(sorted(classes)), skew, cost)


def rates_of(templates: Templates, target: HeadTarget) -> Rates:
    """The rates of a head for a target that was chosen from these templates."""
    rates = templates[target.template].rates(len(target.classes))
    assert rates is not None
    return rates


def rates_of_head(templates: Templates, head: Head) -> Rates:
    """A head's own rates, as far as they are known."""
    return head.rates or rates_of(templates, head.target)


def cheapest(targets: Iterable[HeadTarget | None]) -> HeadTarget | None:
    return min((target for target in targets if target), key=lambda target: target.cost, default=None)
