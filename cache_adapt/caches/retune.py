"""Thresholds that follow what is shown, where every input runs to the network's end. Pure.

They are tuned on the newest 512 inputs as soon as too few of the newest 16 got the right answer (Dai et al., 2024
[Apparate], §3.2). At thresholds that let no input leave all are right, so they are tuned every 128 inputs too, as
places are adjusted in the paper (§3.3): a cache whose utility is negative is not asked until the next tuning. What it
would have said is known all the same, so that it need not be tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cache_adapt.caches.newest import KEPT
from cache_adapt.caches.tune import CachesHeard, Costs, TunedChoice, aim, tuned_at
from cache_adapt.exits.ramps import EVERY, Places, utilities
from cache_adapt.exits.thresholds import Trigger

DOUBT = 0.5
"""How often the bound on wrong answers may be below the truth: each answer is compared, so nothing must be certain."""


class RetuneTrigger:
    """When to tune; not before there are ``KEPT`` inputs."""

    def __init__(self, agreement: float) -> None:
        self._agreement = agreement
        self._inputs = self._since = 0
        self._trigger, self._fell = Trigger(agreement), False

    def saw(self, right: Iterable[bool]) -> bool:
        """Take whether some more inputs got the right answer, in their order; True where it is time."""
        for each in right:
            self._fell = self._trigger.saw(each) or self._fell
            self._inputs, self._since = self._inputs + 1, self._since + 1
        if self._inputs < KEPT or not (self._fell or self._since >= EVERY):
            return False
        self._trigger, self._since, self._fell = Trigger(self._agreement), 0, False
        return True


def retuned(heard: CachesHeard, costs: Costs, agreement: float) -> TunedChoice:
    """All caches tuned together, but for those that then cost more latency than they save; none may be left."""
    places, inputs = Places(costs.until, costs.through, costs.lookup), heard.errors.shape[1]
    constraint = replace(aim(agreement), doubt=DOUBT)
    chosen = tuple(range(len(heard.errors)))
    while chosen:
        found = tuned_at(chosen, heard, costs, constraint)
        left = {place: round(rate * inputs) for place, rate in zip(chosen, found.hit_rates, strict=True)}
        values = utilities(places, left, inputs)
        if min(values.values()) >= 0:
            return found
        chosen = tuple(place for place in chosen if values[place] >= 0)
    return TunedChoice((), (), (), costs.whole / costs.through)
