"""Which heads would serve, as far as a window of answers tells: template selection (Shen, 2019, §5.3.2, phase 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from specialization.accuracy_estimate import Rates, Template
from specialization.weg_config import WegConfig
from specialization.weg_state import Target, WegState
from specialization.weg_window import Window

Templates = Mapping[str, Template]


@dataclass(frozen=True)
class Candidates:
    """Heads that are accurate enough and pay for their training within the longest window."""

    config: WegConfig
    templates: Templates

    def windows(self, state: WegState) -> Iterator[Window]:
        """The newest answers, in windows of doubling length; the more training has cost in vain, the longer the first.

        That slows down where heads do not pay: in streams of long runs of one class, say, which look skewed.
        """
        attempts = 1 + state.debt / max(self.config.retarget_cost, 1.0)
        length = min(round(self.config.w_min * attempts), self.config.w_max)
        head = state.head.target.classes if state.head else ()
        rates = rates_of(self.templates, state.head.target) if state.head else None
        while length <= len(state.answers):
            yield Window(self.config, state.answers[-length:], state.sources[-length:], head, rates)
            length *= 2

    def of(self, window: Window) -> Iterator[Target]:
        """One for every template that serves the window's dominant classes."""
        classes = window.dominant
        if classes:
            yield from self._serving(self.templates.values(), classes, window.skew(classes))

    def again(self, window: Window, target: Target) -> Target | None:
        """The target of a head that is there, if it still serves."""
        template = self.templates[target.template]
        return next(self._serving([template], target.classes, window.skew(target.classes)), None)

    def better(self, window: Window, now: Target) -> Iterator[Target]:
        """Those with which, instead of the present head, training would have been paid for within the window."""
        cost = self.templates[now.template].cascade_cost(rates_of(self.templates, now), window.skew(now.classes))
        limit = cost - self.config.retarget_cost / len(window.answers)
        return (target for target in self.of(window) if target.cost < limit)

    def _serving(self, templates: Iterable[Template], classes: Collection[int], skew: float) -> Iterator[Target]:
        for template in templates:
            rates = template.rates(len(classes))
            if rates is None or rates.accuracy(skew, self.config.oracle_accuracy) < self.config.least_accuracy:
                continue
            cost = template.cascade_cost(rates, skew)
            if (1 - cost) * self.config.w_max > self.config.retarget_cost:
                yield Target(template.name, tuple(sorted(classes)), skew, cost)


def rates_of(templates: Templates, target: Target) -> Rates:
    """The rates of a head for a target that was chosen from these templates."""
    rates = templates[target.template].rates(len(target.classes))
    assert rates is not None
    return rates


def cheapest(targets: Iterable[Target | None]) -> Target | None:
    """The one whose cascade costs least; None where there is none."""
    return min((target for target in targets if target), key=lambda target: target.cost, default=None)
