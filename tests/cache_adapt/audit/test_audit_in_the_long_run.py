"""Simulations: how soon a shortcut is found out, how seldom a bad one is trusted, whether what is published is true."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.confidence import against
from cache_adapt.audit.state import Rule

RULE = Rule(0.95)
Chance = float | Callable[[int], float]
"""How probable a disagreement is, perhaps by the number of the object."""


def step(audit: Audit, rng: random.Random, chance: float) -> bool:
    """One object, audited on the spot where it is drawn; whether it was."""
    disagrees = rng.random() < chance
    ticket = audit.by_shortcut(rng.random()) if audit.uses_shortcut else audit.in_shadow()
    if ticket is not None:
        audit.tell(ticket, not disagrees)
    return ticket is not None


def lived(chance: Chance, objects: int, seed: int = 0, rule: Rule = RULE, until: Sequence[str] = ("off",)) -> Audit:
    """An audit after so many objects, or earlier in one of the phases ``until``."""
    rng, audit = random.Random(seed), Audit(rule)
    for number in range(objects):
        if audit.phase in until:
            break
        step(audit, rng, chance(number) if callable(chance) else chance)
    return audit


@pytest.mark.parametrize(("chance", "within"), [(1.0, 12), (0.5, 25), (0.3, 50), (0.1, 900)])
def test_a_bad_shortcut_is_off_within_a_few_audits_and_has_answered_nothing(chance: float, within: int) -> None:
    ended = [lived(chance, 2000, seed) for seed in range(50)]
    assert np.quantile([audit.state.audits for audit in ended], 0.95) <= within
    assert sum(audit.state.by_shortcut for audit in ended) == 0


@pytest.mark.parametrize(("chance", "half", "most"), [(0.0, 95, 95), (0.01, 170, 340)])
def test_a_good_one_is_trusted_after_as_many_objects_as_are_published(chance: float, half: int, most: int) -> None:
    ended = [lived(chance, 2000, seed, until=("trusted", "off")) for seed in range(50)]
    audits = [audit.state.audits for audit in ended]
    assert np.median(audits) <= half
    assert np.quantile(audits, 0.9) <= most
    assert {audit.phase for audit in ended} == {"trusted"}


@pytest.mark.parametrize(("then", "within"), [(1.0, 1500), (0.3, 6000)])
def test_a_trusted_shortcut_that_turns_bad_is_off_soon(then: float, within: int) -> None:
    before = 10_000
    ends = [
        lived(lambda number: 0.005 if number < before else then, before + 10_000, seed).state.answers
        for seed in range(12)
    ]
    assert min(ends) > before - 1000
    assert np.quantile(ends, 0.9) <= before + within


def test_comfortably_above_the_target_it_is_seldom_switched_off() -> None:
    ended = [lived(0.01, 10_000, seed) for seed in range(40)]
    assert sum(audit.state.switched_off for audit in ended) <= 2
    assert sum(audit.phase == "trusted" for audit in ended) >= 36


LOOKS = 4
ALIKE = 0.6
"""Correlation of whether two looks at one object disagree."""


def looks_disagree(rng: random.Random, chance: float) -> list[bool]:
    """Looks at one object: with the probability ``ALIKE`` each look is what the object is, else chance of its own."""
    of_the_object = rng.random() < chance
    return [of_the_object if rng.random() < ALIKE**0.5 else rng.random() < chance for _ in range(LOOKS)]


def proves(chance: float, seed: int, per_object: bool) -> bool:
    """Whether a shortcut is ever trusted in 2 000 objects, judged by objects or, wrongly, by single looks."""
    rng, audit = random.Random(seed), Audit(RULE)
    for _ in range(2000):
        looks = looks_disagree(rng, chance)
        for disagrees in looks[:1] if per_object else looks:
            ticket = audit.in_shadow()
            if ticket is None:
                return audit.uses_shortcut
            audit.tell(ticket, not disagrees)
    return False


@pytest.mark.parametrize("chance", [RULE.tolerance, 1.3 * RULE.tolerance])
def test_what_is_not_good_enough_earns_trust_in_5_of_100_runs_at_most_with_looks_that_are_alike(chance: float) -> None:
    assert sum(proves(chance, seed, per_object=True) for seed in range(200)) <= 10


def test_looks_counted_one_by_one_would_prove_too_much() -> None:
    """Why an audit is an object: else this simulation would say nothing."""
    assert sum(proves(RULE.tolerance, seed, per_object=False) for seed in range(60)) > 6


def drifting(number: int) -> float:
    return 0.02 if number < 150 else 0.3 if number < 300 else 0.1


class Convoy:
    """Objects come in convoys: whoever follows a disagreement mostly disagrees too."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._bad = rng, False

    def chance(self) -> float:
        """How probable it is, after what was told, that the next object disagrees."""
        return 0.7 if self._bad else 0.02

    def draw(self) -> bool:
        """The next object."""
        self._bad = self._rng.random() < self.chance()
        return self._bad


@pytest.mark.parametrize("chance", [0.05, drifting], ids=["steady", "drifting"])
def test_in_many_runs_the_published_interval_errs_in_no_more_than_5_of_100_periods(chance: Chance) -> None:
    rule, wrong, periods = Rule(0.8, patience=10), 0, 0
    for seed in range(500):
        missed = misses(chance, 400, seed, rule)
        wrong, periods = wrong + sum(missed), periods + len(missed)
    assert periods >= 500
    assert wrong / periods <= rule.error


def misses(chance: Chance, objects: int, seed: int, rule: Rule) -> list[bool]:
    """Whether the interval of each published period ever missed how often its audits had to disagree."""
    rng, audit = random.Random(seed), Audit(rule)
    had_to = [0.0]
    missed: dict[int, bool] = {}
    for number in range(objects):
        if audit.phase == "off":
            break
        now = chance(number) if callable(chance) else chance
        if step(audit, rng, now):
            had_to.append(had_to[-1] + now)
            elder = audit.state.recent.elder
            begin = len(had_to) - 1 - elder.audits
            truth = had_to[-1] - had_to[begin]
            missed[begin] = missed.get(begin, False) or against(elder.disagreements, truth, rule.error)
    return list(missed.values())


def test_convoys_of_objects_that_are_alike_do_not_break_the_interval() -> None:
    missed = 0
    for seed in range(200):
        convoy, audit = Convoy(random.Random(seed)), Audit(Rule(0.5, patience=1000))
        had_to, wrong = 0.0, False
        for _ in range(300):
            had_to += convoy.chance()
            audit.tell(audit.in_shadow() or pytest.fail("off"), not convoy.draw())
            wrong |= against(audit.state.recent.elder.disagreements, had_to, 0.05)
            if audit.phase != "shadow":
                break
        missed += wrong
    assert missed <= 10


def test_exits_that_disagree_half_as_often_as_they_may_are_proven_and_those_nearer_to_it_are_not() -> None:
    """Why exits aim at half (decision 19): the median of the audits until one is trusted."""

    def proofs(share: float) -> list[float]:
        """Audits until an audit trusts; infinite where it never does."""
        found = []
        for seed in range(60):
            audit = lived(0.1 * share, 3000, seed, Rule(0.9), until=("trusted", "off"))
            found.append(float(audit.state.audits) if audit.phase == "trusted" else np.inf)
        return found

    assert np.median(proofs(0.0)) == 48
    assert 60 < np.median(proofs(0.25)) < 120
    assert 200 < np.median(proofs(0.5)) < 350
    assert np.isinf(np.median(proofs(0.65)))
