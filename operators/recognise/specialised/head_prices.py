"""The price of a head that answers, step by step, in processor seconds: first guesses, then what was seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from operators.recognise.account.estimate import Estimate
from operators.recognise.account.outlook import Outlook
from operators.recognise.specialised.features import Features
from operators.recognise.specialised.own_samples import FIRST_PROFILE, STRANGERS, NodeSamples

MAKING_S, OPENING_S, TRAINING_S, PROFILING_S = 0.5, 0.1, 0.2, 0.2
"""First guesses; a network is made where no template has one, which needs what else is not imported."""
PROOF = 300
"""Looks that a head makes in the shadow before it is trusted."""
LEAST_LOOKS, MOST_LOOKS = 15.0, 60.0
"""Bounds of R_0: what WEG's author takes, and a quarter of the longest window, since a head goes on saving after it."""
LEAST_WINDOW, MOST_WINDOW = 30, 480
"""Bounds of the first window of an epoch, and of the longest."""
WAITED = 0.25
"""A head is chosen from so many answers, as a share of the looks that pass until its proof is paid for."""
CHANGED = 0.2
"""Smaller changes change nothing."""


class HeadPrices:
    """The steps: a template's network is opened, heads are measured where nobody has done it, one is trained."""

    def __init__(self, features: Features, samples: NodeSamples, measured: Collection[str], costs_here: bool) -> None:
        """``measured``: the templates whose rates are known, kept up to date; ``costs_here``: who trains is paid."""
        self._features, self._samples, self._measured = features, samples, measured
        self._costs_here = costs_here
        self.opening = Estimate(OPENING_S + (MAKING_S if features.are_made else 0.0))
        self.training = Estimate(TRAINING_S if costs_here else 0.0)
        self.profiling = Estimate(PROFILING_S if costs_here else 0.0)
        self.in_looks = LEAST_LOOKS
        """R_0: what a head costs until it answers, in looks of the oracle."""
        self.window = LEAST_WINDOW
        """How many answers a head is chosen from at the least.

        A head that was chosen too early is proved as slowly as any: where money for it comes slowly, more answers are
        waited for, from which more of the dominant classes can be seen.
        """

    def step_s(self, template: str) -> float:
        """The price of the next step towards a head."""
        if not self._features.is_open(template):
            return self.opening.seconds
        if template in self._measured:
            return self.training.seconds
        enough = self._samples.taken(template) >= FIRST_PROFILE
        return self._judging_s(template) if enough else self._features.look_s(template)

    def strangers_s(self, template: str) -> float:
        """The price of asking about strangers, where there are no samples of "other"; 0 where nobody has to."""
        wanted = self._costs_here and self._samples.lacks_others(template)
        return STRANGERS * (self._features.oracle_s + self._features.look_s(template)) if wanted else 0.0

    def _judging_s(self, template: str) -> float:
        return self.profiling.seconds + self.strangers_s(template)

    def kept_s(self, template: str) -> float:
        """Seconds that must be left in the purse while samples are taken: for what matters more."""
        if template in self._measured:
            return self.training.seconds + PROOF * self._features.look_s(template)
        return self._judging_s(template) if self._samples.taken(template) >= FIRST_PROFILE else 0.0

    def next_step(self, templates: Sequence[str]) -> tuple[str, Estimate]:
        """The next step towards a head of any of these templates, in words, and what it costs."""
        if not any(map(self._features.is_open, templates)):
            return "loading a compact network", self.opening
        if not any(name in self._measured for name in templates):
            return "measuring heads on samples", self.profiling
        return "training a head", self.training

    def outlook(self, template: str, share: float, looks_per_hour: float | None) -> Outlook:
        """The savings of heads of a template that answer this share, and the price of getting them."""
        look_s, steps_s = self._features.look_s(template), self.training.seconds
        if template not in self._measured:
            steps_s += self._judging_s(template) + FIRST_PROFILE * look_s
        if not self._features.is_open(template):
            steps_s += self.opening.seconds
        passed_s = self._features.passed_s(template)
        return Outlook(self._features.oracle_s, look_s, share, looks_per_hour, steps_s, passed_s)

    def have_changed(self, templates: Sequence[str], income_s: float) -> bool:
        """Find out anew what a head of the cheapest of these templates costs; whether that has changed much.

        ``income_s``: what the purse gets for each look of the node.
        """
        needed_s = self.training.seconds + PROOF * min(map(self._features.look_s, templates))
        looks = min(max(needed_s / self._features.oracle_s, LEAST_LOOKS), MOST_LOOKS)
        waited = WAITED * needed_s / income_s if income_s > 0 else LEAST_WINDOW
        window = round(min(max(waited, LEAST_WINDOW), MOST_WINDOW))
        changed = _is_other(looks, self.in_looks) or _is_other(window, self.window)
        if changed:
            self.in_looks, self.window = looks, window
        return changed


def _is_other(now: float, before: float) -> bool:
    return abs(now - before) > CHANGED * before
