"""The audit as a whole: what it decides, and at what cost. ``test_audit_in_the_long_run`` asks whether it is right."""

from __future__ import annotations

import random

import msgspec
import pytest

from cache_adapt.audit.audit import Audit, Ticket
from cache_adapt.audit.periods import Period, Recent
from cache_adapt.audit.state import KEPT, AuditState, Rule

RULE = Rule(0.97)


def told(audit: Audit, *outcomes: bool | None) -> Audit:
    """The audit after these outcomes of its present attempt."""
    for agrees in outcomes:
        audit.tell(Ticket(audit.state.attempt), agrees)
    return audit


def trusted(rule: Rule = RULE) -> Audit:
    audit = Audit(rule)
    while audit.phase == "shadow":
        told(audit, True)
    return audit


def fail(audit: Audit) -> int:
    """Let the shortcut fail; how many objects the oracle answers for before it may try again."""
    while audit.phase != "off":
        told(audit, False)
    rest = 0
    while audit.phase == "off":
        audit.by_oracle()
        rest += 1
    return rest


def test_it_begins_in_the_shadow_where_every_object_is_an_audit_and_the_oracle_answers() -> None:
    audit = Audit(RULE)
    assert (audit.phase, audit.uses_shortcut) == ("shadow", False)
    assert audit.in_shadow() == audit.in_shadow() == Ticket(0)
    assert (audit.state.recent.elder.objects, audit.state.by_shortcut) == (2, 0)
    assert audit.estimate().agreement is None


def test_159_audits_that_all_agree_earn_trust_at_97_percent() -> None:
    audit = Audit(RULE)
    for number in range(1, 160):
        assert audit.phase == "shadow"
        told(audit, True)
        assert audit.estimate().audits == number
    assert (audit.phase, audit.uses_shortcut, audit.rate) == ("trusted", True, 0.01)
    assert audit.estimate().sequential.low >= 0.97
    assert audit.in_shadow() is None


def test_a_coin_below_the_rate_draws() -> None:
    audit = trusted()
    assert [audit.by_shortcut(coin) for coin in (0.01, 0.0099)] == [None, Ticket(0)]
    told(audit, False)
    assert audit.phase == "probation"
    assert [audit.by_shortcut(coin) for coin in (0.25, 0.2499)] == [None, Ticket(0)]
    assert (audit.state.by_shortcut, audit.state.recent.elder.objects) == (4, 4)


def test_without_room_nothing_is_drawn_and_nothing_is_said_of_the_object() -> None:
    audit = trusted()
    assert audit.by_shortcut(0.0, possible=False) is None
    assert (audit.state.unsampled, audit.state.by_shortcut, audit.state.recent.elder.objects) == (1, 1, 0)


def test_what_the_shortcut_still_answers_while_it_may_not_is_told_apart() -> None:
    """A frame that was begun before the switch was thrown ends as it began."""
    audit = Audit(RULE)
    assert audit.by_shortcut(0.0) is None
    assert audit.state.unsampled == 1


def test_an_oracle_that_is_not_sure_speaks_neither_for_nor_against() -> None:
    audit = told(Audit(RULE), *[True] * 100, *[None] * 200, *[True] * 58)
    assert (audit.phase, audit.estimate().unsure, audit.state.unsure, audit.state.audits) == ("shadow", 200, 200, 158)
    assert told(audit, True).phase == "trusted"


def test_an_oracle_that_is_hardly_ever_sure_ends_the_attempt() -> None:
    audit = told(Audit(RULE), True, *[None] * 1700)
    assert audit.phase == "off"
    (switch_off,) = audit.state.last_switch_offs
    assert switch_off.reason == (
        "cannot be shown to agree often enough: in 0.000 to 1.000 of the objects by 1 audits "
        "(1667 more in which the oracle was not sure), wanted 0.97"
    )


def test_below_the_lower_bound_it_is_on_probation_at_once_and_back_when_the_bound_is() -> None:
    audit = told(trusted(), False)
    assert (audit.phase, audit.uses_shortcut) == ("probation", True)
    assert audit.estimate().audits == 160  # what speaks for it is kept
    more = 0
    while audit.phase == "probation":
        told(audit, True)
        more += 1
    assert (audit.phase, more) == ("trusted", 81)


def test_what_was_compared_elsewhere_answers_at_once_until_the_stream_knows_better() -> None:
    audit = Audit(RULE)
    audit.answers_at_once()
    assert (audit.phase, audit.uses_shortcut, audit.rate) == ("probation", True, RULE.probation_rate)
    assert audit.estimate().agreement is None, "what is published is of this stream alone"
    told(audit, *[True] * 159)
    assert audit.phase == "trusted"
    fail(audit)
    audit.answers_at_once()
    assert audit.phase == "shadow", "it was switched off once"
    begun = told(Audit(RULE), False)
    begun.answers_at_once()
    assert begun.phase == "shadow", "the stream has begun to ask"


def test_what_is_proven_bad_is_off_with_its_reason() -> None:
    audit = told(Audit(RULE), *[False] * 5)
    assert audit.phase == "off"
    (switch_off,) = audit.state.last_switch_offs
    assert switch_off.reason == "agrees too seldom: in 0.000 to 0.909 of the objects by 5 audits, wanted 0.97"
    assert audit.estimate().disagreements == 5


def test_what_cannot_be_proven_good_is_off_when_the_memory_is_full() -> None:
    audit = told(Audit(RULE), *[number % 40 != 0 for number in range(5000)])
    (switch_off,) = audit.state.last_switch_offs
    assert switch_off.reason.startswith("cannot be shown to agree often enough: in 0.96")
    assert audit.estimate().audits == pytest.approx(RULE.limits.audits, abs=2)


def test_a_proof_that_is_too_old_is_renewed_on_probation() -> None:
    rule = Rule(0.9)
    audit, objects = trusted(rule), 0
    while audit.phase == "trusted":
        audit.by_shortcut(0.5)
        objects += 1
    assert (objects, audit.phase) == (rule.limits.objects, "probation")
    assert audit.state.recent == Recent(Period(objects=10_000))  # the younger, in which nobody looked
    assert told(audit, *[True] * 48).phase == "trusted"


def test_audits_at_the_low_rate_renew_the_proof_of_a_good_shortcut() -> None:
    audit, rng = trusted(Rule(0.9)), random.Random(1)
    for _ in range(100_000):
        ticket = audit.by_shortcut(rng.random())
        if ticket:
            audit.tell(ticket, True)
        assert audit.phase == "trusted"
    assert audit.state.recent.elder.objects <= 20_000


def test_accuracy_1_means_the_oracle() -> None:
    audit = Audit(Rule(1.0))
    audit.by_oracle(10_000_000)
    assert audit.phase == "off"
    assert audit.in_shadow() is None
    assert "accuracy 1" in audit.state.last_switch_offs[0].reason
    assert Audit(Rule(1.0), audit.state).state.switched_off == 1


def test_it_tries_again_after_rests_that_double_up_to_a_bound() -> None:
    audit = Audit(Rule(0.97, rest=10, doublings=3))
    assert [fail(audit) for _ in range(6)] == [10, 20, 40, 80, 80, 80]
    assert (audit.phase, audit.estimate().audits, audit.state.switched_off) == ("shadow", 0, 6)


def test_many_objects_at_once_may_end_the_rest() -> None:
    audit = told(Audit(Rule(0.97, rest=10)), *[False] * 5)
    audit.by_oracle(1000)
    assert (audit.phase, audit.state.rest) == ("shadow", 0)


def test_only_a_memory_full_of_good_audits_ends_the_series_of_failures() -> None:
    audit = Audit(Rule(0.97, rest=10))
    assert [fail(audit), fail(audit)] == [10, 20]
    told(audit, *[True] * 200)
    assert audit.phase == "trusted"
    assert fail(audit) == 40
    told(audit, *[True] * 1700)
    assert fail(audit) == 10


def test_a_trusted_shortcut_that_begins_to_disagree_is_off_though_its_past_speaks_for_it() -> None:
    audit = told(Audit(RULE), *[True] * 1500)
    disagreements = 0
    while audit.uses_shortcut:
        told(audit, False)
        disagreements += 1
    assert disagreements <= 7
    (switch_off,) = audit.state.last_switch_offs
    assert switch_off.reason.startswith("has begun to disagree often, though it agreed in 0.98")


@pytest.mark.parametrize("phase", ["shadow", "probation"])
def test_untrusted_a_few_disagreements_in_a_row_are_weighed_with_the_rest(phase: str) -> None:
    audit = told(Audit(RULE), *[True] * 150) if phase == "shadow" else told(trusted(), False, *[True] * 8)
    told(audit, *[False] * 6)
    assert (audit.phase, audit.state.pressure) == (phase, 0.0)


def test_another_edition_has_to_prove_itself_anew() -> None:
    audit = trusted()
    late = audit.by_shortcut(0.0)
    assert late is not None
    audit.stands_for(0)
    assert audit.phase == "trusted"
    audit.stands_for(7)
    assert (audit.phase, audit.state.edition, audit.estimate().audits) == ("shadow", 7, 0)
    audit.tell(late, False)
    assert audit.estimate().audits == 0


def test_another_edition_does_not_shorten_the_rest() -> None:
    audit = told(Audit(Rule(0.97, rest=10)), *[False] * 5)
    audit.stands_for(7)
    assert (audit.phase, audit.state.rest) == ("off", 10)
    audit.by_oracle(10)
    assert audit.phase == "shadow"


def test_the_outcome_of_an_earlier_attempt_says_nothing_of_this_one() -> None:
    audit = Audit(Rule(0.97, rest=10))
    early = audit.in_shadow()
    assert early is not None
    fail(audit)
    before = audit.state.audits
    audit.tell(early, agrees=False)
    assert (audit.state.audits, audit.estimate().audits) == (before + 1, 0)


def test_a_rule_that_demands_more_than_the_proof_shows_is_obeyed_at_once() -> None:
    state = trusted(Rule(0.9)).state
    assert Audit(Rule(0.9), state).phase == "trusted"
    assert Audit(Rule(0.97), state).phase == "probation"


def test_only_the_last_reasons_are_kept() -> None:
    audit = Audit(Rule(0.97, rest=1, doublings=0))
    for _ in range(KEPT + 5):
        fail(audit)
    assert (len(audit.state.last_switch_offs), audit.state.switched_off) == (KEPT, KEPT + 5)


def test_the_state_survives_as_json_at_any_moment() -> None:
    whole, parted, rng = Audit(Rule(0.9, rest=20)), Audit(Rule(0.9, rest=20)), random.Random(3)
    phases = set()
    for number in range(6000):
        wrong = rng.random() < (0.01 if number % 3000 < 2000 else 0.4)
        chance, agrees = rng.random(), rng.choice([not wrong, not wrong, None])
        for audit in (whole, parted):
            ticket = audit.by_shortcut(chance) if audit.uses_shortcut else audit.in_shadow()
            if audit.phase == "off":
                audit.by_oracle()
            if ticket is not None:
                audit.tell(ticket, agrees)
        phases.add(whole.phase)
        if rng.random() < 0.05:
            parted = Audit(whole.rule, msgspec.json.decode(msgspec.json.encode(parted.state), type=AuditState))
    assert parted.state == whole.state
    assert phases == {"shadow", "trusted", "probation", "off"}


@pytest.mark.parametrize("damaged", [{"rest": -1}, {"recent": {"elder": {"audits": -1}}}, {"edition": -1}])
def test_a_state_that_cannot_be_is_refused(damaged: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(damaged, AuditState)
