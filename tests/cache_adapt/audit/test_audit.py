"""The audit as a whole: what it decides, at what cost, and whether what it publishes is true."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from cache_adapt.audit.audit import KEPT, Audit, Ticket
from cache_adapt.audit.confidence import against
from cache_adapt.audit.state import AuditState, Rule

RULE = Rule(0.97)
Chance = float | Callable[[int], float]
"""How probable a disagreement is, perhaps by the number of the answer."""


def answer(audit: Audit, rng: random.Random, chance: float) -> tuple[Ticket | None, bool]:
    """One answer of the shortcut, audited on the spot where it is drawn; whether the oracle would disagree."""
    disagrees = rng.random() < chance
    ticket = audit.by_shortcut(rng.random())
    if ticket is not None:
        audit.tell(ticket, not disagrees)
    return ticket, disagrees


def lived(chance: Chance, answers: int, seed: int = 0, rule: Rule = RULE, until: str = "") -> Audit:
    """An audit after so many answers of the shortcut, or earlier in the phase ``until``."""
    rng, audit = random.Random(seed), Audit(rule)
    for number in range(answers):
        if not audit.uses_shortcut or audit.phase == until:
            break
        answer(audit, rng, chance(number) if callable(chance) else chance)
    return audit


def test_it_begins_on_probation_with_the_shortcut_in_use() -> None:
    audit = Audit(RULE)
    assert (audit.phase, audit.uses_shortcut, audit.rate) == ("probation", True, 0.25)
    assert audit.estimate().agreement is None


def test_a_coin_below_the_rate_draws_and_carries_the_weight_of_all_answers_since() -> None:
    audit = Audit(RULE)
    assert [audit.by_shortcut(coin) for coin in (0.25, 0.9)] == [None, None]
    assert audit.by_shortcut(0.2499) == Ticket(0, 0.75)
    assert audit.by_shortcut(0.0) == Ticket(0, 0.25)


def test_without_room_nothing_is_drawn_and_nothing_is_said_of_the_answer() -> None:
    audit = Audit(RULE)
    assert audit.by_shortcut(0.0, possible=False) is None
    assert audit.by_shortcut(0.0) == Ticket(0, 0.25)
    assert (audit.state.unsampled, audit.state.by_shortcut) == (1, 2)


def test_159_audits_that_all_agree_earn_trust_at_97_percent() -> None:
    audit = Audit(RULE)
    for number in range(1, 160):
        assert audit.phase == "probation"
        audit.tell(Ticket(0, 1.0), agrees=True)
        assert audit.estimate().audits == number
    assert (audit.phase, audit.rate) == ("trusted", 0.01)
    assert audit.estimate().sequential.low >= 0.97


def test_below_the_lower_bound_it_is_on_probation_at_once() -> None:
    audit = lived(0.0, 10_000, until="trusted")
    audit.tell(Ticket(0, 1.0), agrees=False)
    assert (audit.phase, audit.uses_shortcut) == ("probation", True)
    assert audit.estimate().audits > 150  # what speaks for it is kept


def test_what_is_proven_bad_is_off_with_its_reason() -> None:
    audit = Audit(RULE)
    while audit.uses_shortcut:
        audit.tell(Ticket(0, 1.0), agrees=False)
    (switch_off,) = audit.state.last_switch_offs
    assert switch_off.reason == "agrees too seldom: in 0.000 to 0.909 of the answers by 5 audits, wanted 0.97"
    assert audit.estimate().disagreements == 5


def test_what_cannot_be_proven_good_is_off_when_the_memory_is_full() -> None:
    audit = Audit(RULE)
    for number in range(5000):
        if audit.uses_shortcut:
            audit.tell(Ticket(0, 1.0), agrees=number % 40 != 0)
    (switch_off,) = audit.state.last_switch_offs
    assert switch_off.reason.startswith("cannot be shown to agree often enough: in 0.96")
    assert audit.estimate().audits == pytest.approx(RULE.memory, abs=2)


def test_accuracy_1_means_the_oracle() -> None:
    audit = Audit(Rule(1.0))
    audit.by_oracle(10_000_000)
    assert not audit.uses_shortcut
    assert "accuracy 1" in audit.state.last_switch_offs[0].reason
    assert Audit(Rule(1.0), audit.state).state.switched_off == 1


def fail(audit: Audit) -> int:
    """Let the shortcut fail; how many answers the oracle gives before it may try again."""
    while audit.uses_shortcut:
        audit.tell(Ticket(audit.state.trial, 1.0), agrees=False)
    rest = 0
    while not audit.uses_shortcut:
        audit.by_oracle()
        rest += 1
    return rest


def test_it_tries_again_after_rests_that_double_up_to_a_bound() -> None:
    audit = Audit(Rule(0.97, rest=10, doublings=3))
    assert [fail(audit) for _ in range(6)] == [10, 20, 40, 80, 80, 80]
    assert (audit.phase, audit.estimate().audits, audit.state.switched_off) == ("probation", 0, 6)


def test_only_a_memory_full_of_good_audits_ends_the_series_of_failures() -> None:
    audit = Audit(Rule(0.97, rest=10))
    assert [fail(audit), fail(audit)] == [10, 20]
    be_good(audit, 200)
    assert audit.phase == "trusted"
    assert fail(audit) == 40
    be_good(audit, 1700)
    assert fail(audit) == 10


def be_good(audit: Audit, audits: int) -> None:
    for _ in range(audits):
        audit.tell(Ticket(audit.state.trial, 1.0), agrees=True)


def test_a_trusted_shortcut_that_begins_to_disagree_is_off_though_its_past_speaks_for_it() -> None:
    audit = Audit(RULE)
    be_good(audit, 1500)
    disagreements = 0
    while audit.uses_shortcut:
        audit.tell(Ticket(0, 1.0), agrees=False)
        disagreements += 1
    assert disagreements <= 7
    (switch_off,) = audit.state.last_switch_offs
    assert switch_off.reason.startswith("has begun to disagree often, though it agreed in 0.98")


def test_on_probation_a_few_disagreements_in_a_row_are_weighed_with_the_rest() -> None:
    audit = Audit(RULE)
    be_good(audit, 150)
    for _ in range(7):
        audit.tell(Ticket(0, 1.0), agrees=False)
    assert (audit.phase, audit.estimate().audits) == ("probation", 157)


def test_the_outcome_of_an_earlier_trial_says_nothing_of_this_one() -> None:
    audit = Audit(Rule(0.97, rest=10))
    early = audit.by_shortcut(0.0)
    assert early is not None
    fail(audit)
    told = audit.state.audits
    audit.tell(early, agrees=False)
    assert (audit.state.audits, audit.estimate().audits) == (told + 1, 0)


def test_only_the_last_reasons_are_kept() -> None:
    audit = Audit(Rule(0.97, rest=1, doublings=0))
    for _ in range(KEPT + 5):
        fail(audit)
    assert (len(audit.state.last_switch_offs), audit.state.switched_off) == (KEPT, KEPT + 5)


def test_the_state_survives_as_json_at_any_moment() -> None:
    whole, parted, rng = Audit(RULE), Audit(RULE), random.Random(3)
    for _ in range(3000):
        chance, disagrees = rng.random(), rng.random() < 0.05
        for audit in (whole, parted):
            ticket = audit.by_shortcut(chance) if audit.uses_shortcut else audit.by_oracle(40)
            if ticket is not None:
                audit.tell(ticket, not disagrees)
        if rng.random() < 0.05:
            parted = Audit(RULE, msgspec.json.decode(msgspec.json.encode(parted.state), type=AuditState))
    assert parted.state == whole.state
    assert whole.state.switched_off > 0


@pytest.mark.parametrize(("chance", "within"), [(1.0, 12), (0.5, 25), (0.3, 45), (0.1, 300)])
def test_a_bad_shortcut_is_off_within_a_few_audits(chance: float, within: int) -> None:
    audits = [lived(chance, 10_000, seed, until="off").state.audits for seed in range(100)]
    assert np.quantile(audits, 0.95) <= within


@pytest.mark.parametrize(("then", "within"), [(1.0, 1500), (0.3, 5000)])
def test_a_trusted_shortcut_that_turns_bad_is_off_soon(then: float, within: int) -> None:
    before = 30_000
    ends = [
        lived(lambda number: 0.002 if number < before else then, before + 40_000, seed, until="off").state.answers
        for seed in range(20)
    ]
    assert min(ends) > before
    assert np.quantile(ends, 0.9) <= before + within


def test_comfortably_above_the_target_it_is_seldom_switched_off() -> None:
    ended = [lived(0.01, 10_000, seed) for seed in range(40)]
    assert sum(audit.state.switched_off for audit in ended) <= 2
    assert sum(audit.phase == "trusted" for audit in ended) >= 36


@pytest.mark.parametrize("chance", [0.03, 0.04])
def test_what_is_not_good_enough_seldom_earns_trust(chance: float) -> None:
    assert sum(lived(chance, 8000, seed, until="trusted").phase == "trusted" for seed in range(40)) <= 2


def drifting(number: int) -> float:
    return 0.02 if number < 150 else 0.3 if number < 300 else 0.1


@pytest.mark.parametrize("chance", [0.05, drifting], ids=["steady", "drifting"])
def test_in_1000_runs_the_published_interval_errs_in_no_more_than_5_of_100_periods(chance: Chance) -> None:
    rule, wrong, periods = Rule(0.8, patience=10), 0, 0
    for seed in range(1000):
        missed = misses(chance, 500, seed, rule)
        wrong, periods = wrong + sum(missed), periods + len(missed)
    assert periods >= 1000
    assert wrong / periods <= rule.error


def misses(chance: Chance, answers: int, seed: int, rule: Rule) -> list[bool]:
    """Whether the interval of each published period ever missed the agreement of its answers."""
    rng, audit = random.Random(seed), Audit(rule)
    expected, at_audit = 0.0, [0.0]
    missed: dict[int, bool] = {}
    for number in range(answers):
        if not audit.uses_shortcut:
            break
        rate = audit.rate
        ticket, disagrees = answer(audit, rng, chance(number) if callable(chance) else chance)
        expected += rate * disagrees
        if ticket is not None:
            at_audit.append(expected)
            elder = audit.state.recent.elder
            begin = len(at_audit) - 1 - elder.audits
            truth = at_audit[-1] - at_audit[begin]
            missed[begin] = missed.get(begin, False) or against(elder.disagreements, truth, rule.error)
    return list(missed.values())
