"""Where our rules depart from the printed ones."""

from __future__ import annotations

import msgspec
import pytest

from specialization.rates import Rates, Template
from specialization.weg.adaptive import MOST_CAUTION, Adaptive
from specialization.weg.algorithm import Weg
from specialization.weg.candidates import Candidates
from specialization.weg.change import contradictions, fallbacks
from specialization.weg.state import FALLBACK, HEAD, ORACLE, Head, HeadTarget, WegState
from specialization.weg.window import AnswerWindow
from tests.specialization.weg.driver import COMPACT, CONFIG, GOOD, specialised, tell_cascade, tell_oracle, weg

CANDIDATES = Candidates(CONFIG, {"compact": COMPACT})
FIVE = HeadTarget("compact", (1, 2, 3, 4, 5), skew=0.8, cost=0.4)
EARLY = msgspec.structs.replace(COMPACT, passed=0.8)
"""The oracle goes on at the template's cut."""
OF_FIVE = Head(1, FIVE, training_skew=0.6)


def asked(answers: list[int], debt: float = 0.0) -> WegState:
    return WegState(answers=answers, sources=[ORACLE] * len(answers), debt=debt)


def window(answers: list[int]) -> AnswerWindow:
    return AnswerWindow(CONFIG, answers, [ORACLE] * len(answers))


def leave(machine: Weg) -> None:
    while machine.state.head:
        tell_cascade(machine, range(100, 110))


@pytest.mark.parametrize(("debt", "lengths"), [(0, [30, 60, 120, 240]), (15, [60, 120, 240]), (45, [120, 240])])
def test_windows_double_and_begin_later_where_heads_did_not_pay(debt: float, lengths: list[int]) -> None:
    windows = CANDIDATES.windows(asked(list(range(240)), debt))
    assert [len(each.answers) for each in windows] == lengths


def test_even_a_large_debt_leaves_the_longest_window() -> None:
    assert [len(each.answers) for each in CANDIDATES.windows(asked([1] * 240, 1e6))] == [240]


def test_a_head_is_paid_for_by_the_runs_of_the_oracle_that_it_saves() -> None:
    machine = specialised(Adaptive)
    assert machine.state.debt == CONFIG.retarget_cost
    tell_cascade(machine, [1] * 10)
    assert machine.state.debt == pytest.approx(CONFIG.retarget_cost - 10 * (1 - COMPACT.cost))
    tell_cascade(machine, [99])
    assert machine.state.debt == pytest.approx(CONFIG.retarget_cost - 10 * (1 - COMPACT.cost) + COMPACT.cost)
    tell_cascade(machine, [1] * 50)
    assert machine.state.debt == 0


def test_what_the_oracle_is_spared_of_a_miss_is_saved_too() -> None:
    machine = specialised(Adaptive)
    machine.rules = Adaptive(CONFIG, {"compact": EARLY})
    tell_cascade(machine, [99])
    assert machine.state.debt == pytest.approx(CONFIG.retarget_cost - (1 - EARLY.passed) + EARLY.cost)


def test_a_cascade_whose_misses_cost_less_serves_at_a_lower_skew() -> None:
    lenient = msgspec.structs.replace(CONFIG, tau_a=-0.85)
    whole, early = (fallbacks(lenient, template, GOOD, FIVE).feared for template in (COMPACT, EARLY))
    assert whole == pytest.approx(1 - COMPACT.cost)
    assert GOOD.cascaded(0.0) > whole
    assert early == pytest.approx(min(GOOD.cascaded(0.0), (1 - EARLY.cost) / EARLY.passed))


def test_a_small_saving_takes_a_long_window() -> None:
    some = [number % 3 if number % 5 < 2 else number for number in range(1000, 1240)]
    assert not list(CANDIDATES.of(window(some[:30])))
    assert list(CANDIDATES.of(window(some)))


def test_a_head_in_use_is_replaced_only_by_a_better_one() -> None:
    answers = [number % 5 for number in range(120)]
    missing, whole = (Head(1, HeadTarget("compact", tuple(range(n)), 0.9, 0.3), 0.6) for n in (3, 5))
    assert [target.classes for target in CANDIDATES.better(window(answers), missing)] == [(0, 1, 2, 3, 4)]
    assert not list(CANDIDATES.better(window(answers), whole))


def test_a_head_is_judged_by_its_own_rates_and_not_by_those_of_its_like() -> None:
    shy = Rates(a_in=0.6, e_in_out=0.38, a_out=0.98)  # on average heads pass on .08 of their own classes
    reasons = {}
    for rates in (None, shy):
        machine = specialised(Adaptive)
        machine.state.head = msgspec.structs.replace(OF_FIVE, number=1, rates=rates)
        machine.state.known = [machine.state.head]
        answered = [label % 5 + 1 for label in range(100)]
        reasons[rates] = [
            machine.cascade_answered(1, label, by_head=number % 2 == 0) for number, label in enumerate(answered)
        ]
    assert "the skew fell" in reasons[None]
    assert not any(reasons[shy])


def test_a_head_that_nobody_hears_is_left_where_its_classes_are_gone_and_all_that_was_seen_is_kept() -> None:
    machine = specialised(Adaptive)
    for number in range(60):
        assert machine.cascade_answered(1, 1 + number % 3, by_head=True, unseen=True) is None
    assert set(machine.state.sources) == {ORACLE}
    assert machine.state.debt == CONFIG.retarget_cost  # it spares nothing
    reasons = [machine.cascade_answered(1, 100 + number % 7, by_head=False, unseen=True) for number in range(60)]
    assert "the skew fell" in reasons
    assert machine.state.head is None


def test_classes_that_a_head_often_passes_on_are_counted_among_its_own() -> None:
    # Of four classes that are equally frequent it never knows one; no other class is there.
    answers, sources = [1, 2, 3, 4] * 30, [HEAD, HEAD, HEAD, FALLBACK] * 30
    rates = Rates(a_in=0.75, e_in_out=0.25, a_out=1.0)
    of_head = AnswerWindow(CONFIG, answers, sources, (1, 2, 3, 4), rates)
    assert of_head.skew((1, 2, 3, 4)) == pytest.approx(1.0)
    assert of_head.skew((1, 2, 3)) == pytest.approx(0.75)


def test_a_head_of_few_of_the_classes_must_be_right_in_its_own_answers() -> None:
    asked_for = msgspec.structs.replace(CONFIG, least_agreement=0.97)
    some = [number % 3 if number % 2 else number for number in range(1000, 1240)]
    template = {"compact": Template("compact", 0.15, {3: Rates(0.94, 0.05, 0.87)})}  # at a skew of .59 .91 are right
    assert list(Candidates(CONFIG, template).of(window(some)))
    assert not list(Candidates(asked_for, template).of(window(some)))


def test_a_known_head_serves_where_its_classes_are_and_only_there() -> None:
    assert CANDIDATES.again(window([1, 2, 3, 4, 5] * 6), OF_FIVE)
    assert CANDIDATES.again(window(list(range(100, 130))), OF_FIVE) is None


def test_a_known_head_is_not_used_for_the_answers_it_makes_up() -> None:
    lenient = msgspec.structs.replace(CONFIG, tau_a=-0.5)
    careless = Template("compact", 0.1, {5: Rates(0.9, 0.05, 0.85)})
    assert Candidates(lenient, {"compact": careless}).again(window(list(range(100, 130))), OF_FIVE) is None


def test_what_the_oracle_said_since_the_change_begins_the_next_window() -> None:
    machine = specialised(Adaptive)
    tell_cascade(machine, [1, 2, 3] * 20)
    leave(machine)
    carried = machine.state.answers
    assert carried
    assert set(carried) <= set(range(100, 110))


def test_what_the_head_said_in_the_meantime_does_not() -> None:
    machine = specialised(Adaptive)
    while machine.state.head:
        tell_cascade(machine, [100, 101, 102, 1])
    assert len(machine.state.answers) > 3
    assert set(machine.state.answers) == {100, 101, 102}


def test_leaving_in_vain_makes_cautious_and_a_true_change_bold_again() -> None:
    machine = specialised(Adaptive)
    seen = []
    for _ in range(5):
        leave(machine)
        while not machine.state.head:
            tell_oracle(machine, [1 + len(machine.state.answers) % 3])
        seen.append(machine.state.caution)
    assert seen == [2, 4, 8, MOST_CAUTION, MOST_CAUTION]
    leave(machine)
    while not machine.state.wanted:
        tell_oracle(machine, [50 + len(machine.state.answers) % 3])
    assert machine.state.caution == MOST_CAUTION / 2


def test_caution_asks_for_more_evidence() -> None:
    def answers_until_it_leaves(caution: float) -> int:
        machine = specialised(Adaptive)
        machine.state.caution = caution
        leave(machine)
        return machine.state.numbers and len(machine.state.answers)

    assert answers_until_it_leaves(4.0) > 2 * answers_until_it_leaves(1.0)


def test_a_cascade_dearer_than_the_oracle_is_left_however_accurate() -> None:
    lenient = msgspec.structs.replace(CONFIG, tau_a=-0.5)
    machine = specialised(Adaptive, lenient)
    assert tell_cascade(machine, range(100, 160)) == ["the skew fell"]


def test_one_contradiction_is_no_reason() -> None:
    machine = specialised(Adaptive)
    tell_cascade(machine, [1] * 20)
    assert machine.audited(1, agrees=False) is None
    assert machine.state.contradicted > 0


def test_what_is_feared_is_the_least_skew_that_serves() -> None:
    expected, feared = fallbacks(CONFIG, COMPACT, GOOD, FIVE)
    assert expected == pytest.approx(GOOD.cascaded(0.8))
    assert GOOD.accuracy(GOOD.skew(feared), CONFIG.oracle_accuracy) == pytest.approx(CONFIG.least_accuracy)


def test_a_head_that_hardly_serves_is_on_trial() -> None:
    hardly = msgspec.structs.replace(FIVE, skew=GOOD.skew(fallbacks(CONFIG, COMPACT, GOOD, FIVE).feared) + 0.01)
    expected, feared = fallbacks(CONFIG, COMPACT, GOOD, hardly)
    assert expected == pytest.approx(feared - 0.1)


def test_the_oracles_own_errors_are_expected_to_contradict() -> None:
    expected, feared = contradictions(CONFIG, GOOD, FIVE)
    answered = 0.8 * 0.92 + 0.2 * 0.1
    assert expected == pytest.approx(1 - 0.85 * 0.8 * 0.88 / answered)
    assert feared == pytest.approx((1 + expected) / 2)


@pytest.mark.parametrize(
    "rates", [Rates(1.0, 0.0, 1.0), Rates(0.0, 1.0, 0.0), Rates(0.0, 0.0, 0.0), Rates(0.5, 1.0, 1.0)]
)
@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0])
def test_hypotheses_are_possible_and_apart(rates: Rates, skew: float) -> None:
    target = msgspec.structs.replace(FIVE, skew=skew)
    for expected, feared in (fallbacks(CONFIG, COMPACT, rates, target), contradictions(CONFIG, rates, target)):
        assert 0 < expected < feared < 1


def test_classes_that_come_up_are_asked_for_while_the_head_goes_on() -> None:
    machine = specialised(Adaptive)
    for _ in range(40):
        tell_cascade(machine, [1, 2, 3, 4, 1])
    assert machine.state.phase == "specialised"
    assert machine.state.wanted
    assert machine.state.wanted.target.classes == (1, 2, 3, 4)
    machine.head_arrived(2)
    assert machine.state.head
    assert machine.state.head.number == 2
    assert machine.state.epoch == 1
    assert (machine.state.n_c, machine.state.falling) == (0, 0.0)


def test_ten_classes_are_found_although_a_short_window_misses_some() -> None:
    machine = weg(Adaptive)
    tell_oracle(machine, [number % 10 for number in range(29)] + [number % 10 for number in range(40)])
    assert machine.state.wanted
    assert machine.state.wanted.target.classes == tuple(range(10))
