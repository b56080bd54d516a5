"""The state machine, whatever the rules."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.weg_parts.printed import Action, Printed, next_action
from specialization.rates import Template
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Weg
from specialization.weg.state import WegState
from tests.specialization.weg.driver import (
    ALL_RULES,
    AUDITED,
    CONFIG,
    GOOD,
    NOT_AUDITED,
    specialised,
    tell_cascade,
    tell_oracle,
    weg,
)

pytestmark = pytest.mark.parametrize("rules", ALL_RULES)
RulesType = type[Printed] | type[Adaptive]


def test_it_begins_with_the_oracle(rules: RulesType) -> None:
    machine = weg(rules)
    assert next_action(machine, AUDITED) == Action(head=None, audit=False)
    assert machine.state.phase == "initialising"


def test_a_window_of_few_classes_asks_for_a_head(rules: RulesType) -> None:
    machine = weg(rules)
    tell_oracle(machine, ([1, 2, 3] * 10)[:-1])
    assert machine.state.wanted is None
    tell_oracle(machine, [3])
    wanted = machine.state.wanted
    assert wanted
    assert (wanted.target.template, wanted.target.classes) == ("compact", (1, 2, 3))
    assert wanted.training_skew == 0.6
    assert machine.state.phase == "training"


def test_a_window_of_many_classes_does_not(rules: RulesType) -> None:
    machine = weg(rules)
    tell_oracle(machine, range(100))
    assert machine.state.phase == "selecting"


def test_the_oracle_goes_on_until_the_head_arrives(rules: RulesType) -> None:
    machine = weg(rules)
    tell_oracle(machine, [1, 2, 3] * 20)
    wanted = machine.state.wanted
    assert wanted
    assert wanted.number == 1
    machine.head_arrived(1)
    assert next_action(machine, NOT_AUDITED) == Action(head=wanted, audit=False)
    assert machine.state.phase == "specialised"


def test_audits_are_as_frequent_as_the_numbers_given(rules: RulesType) -> None:
    machine = specialised(rules)
    assert [next_action(machine, uniform).audit for uniform in (0.0, 0.0099, 0.01, 0.5)] == [True, True, False, False]


def test_a_head_that_failed_is_asked_for_again_after_a_new_window(rules: RulesType) -> None:
    machine = weg(rules)
    tell_oracle(machine, [1, 2, 3] * 10)
    machine.head_failed(1)
    assert machine.state.phase == "initialising"
    tell_oracle(machine, [1, 2, 3] * 30)
    assert machine.state.wanted
    assert machine.state.wanted.number == 2


@pytest.mark.parametrize("number", [0, 2, 7])
def test_heads_that_nobody_waits_for_are_ignored(rules: RulesType, number: int) -> None:
    machine = weg(rules)
    tell_oracle(machine, [1, 2, 3] * 10)
    machine.head_arrived(number)
    machine.head_failed(number)
    assert machine.state.phase == "training"


def test_a_lost_head_is_not_used_again(rules: RulesType) -> None:
    machine = specialised(rules)
    machine.head_failed(1)
    assert next_action(machine, NOT_AUDITED).head is None
    assert machine.state.known == []


def test_it_goes_back_to_the_oracle_when_the_classes_change(rules: RulesType) -> None:
    machine = specialised(rules)
    assert tell_cascade(machine, [1, 2, 3] * 40) == []
    assert tell_cascade(machine, range(100, 160)) == ["the skew fell"]
    assert next_action(machine, NOT_AUDITED).head is None
    assert machine.state.epoch == 2


def test_it_goes_back_to_the_oracle_when_that_contradicts(rules: RulesType) -> None:
    machine = specialised(rules)
    reasons = []
    while machine.state.head and len(reasons) < 100:
        tell_cascade(machine, [1, 2, 3])
        reasons.append(machine.audited(1, agrees=False))
    assert reasons[-1] == "the oracle contradicts"
    assert machine.state.known == []


def test_audits_that_agree_change_nothing(rules: RulesType) -> None:
    machine = specialised(rules)
    for _ in range(100):
        tell_cascade(machine, [1, 2, 3])
        assert machine.audited(1, agrees=True) is None
    assert (machine.state.n_star, machine.state.n_c) == (0, 300)


def test_late_outcomes_of_a_head_no_longer_in_use_change_nothing(rules: RulesType) -> None:
    machine = specialised(rules)
    tell_cascade(machine, range(100, 160))
    before = msgspec.json.encode(machine.state)
    assert machine.cascade_answered(1, 5, by_head=True) is None
    assert machine.audited(1, agrees=False) is None
    assert msgspec.json.encode(machine.state) == before


def test_late_answers_of_the_oracle_change_nothing(rules: RulesType) -> None:
    machine = specialised(rules)
    before = msgspec.json.encode(machine.state)
    machine.oracle_answered(5)
    assert msgspec.json.encode(machine.state) == before


def test_a_known_head_is_used_without_training(rules: RulesType) -> None:
    machine = specialised(rules)
    tell_cascade(machine, range(100, 160))
    tell_oracle(machine, range(200, 215))
    for _ in range(120):
        if machine.state.head is None:
            machine.oracle_answered(1 + machine.state.answers[-1] % 3)
    assert machine.state.head
    assert machine.state.head.number == machine.state.numbers == 1


def test_few_heads_are_remembered(rules: RulesType) -> None:
    machine = weg(rules, msgspec.structs.replace(CONFIG, heads_kept=2))
    for first in range(0, 400, 10):
        for number in range(200):
            if machine.state.head is None:
                machine.oracle_answered(first + number % 3)
            else:
                tell_cascade(machine, [first + number % 3])
            if machine.state.wanted:
                machine.head_arrived(machine.state.wanted.number)
    assert machine.state.numbers > 4
    assert [head.number for head in machine.state.known] == [machine.state.numbers - 1, machine.state.numbers]


def test_the_state_is_bounded(rules: RulesType) -> None:
    machine = weg(rules)
    tell_oracle(machine, range(2000))
    assert len(machine.state.answers) == len(machine.state.sources) == CONFIG.w_max


@pytest.mark.parametrize("of", ["new", "training", "specialised"])
def test_the_state_goes_through_json(rules: RulesType, of: str) -> None:
    machine = specialised(rules) if of == "specialised" else weg(rules)
    if of == "training":
        tell_oracle(machine, [1, 2, 3] * 10)
    assert msgspec.json.decode(msgspec.json.encode(machine.state), type=WegState) == machine.state


def test_states_of_other_templates_lose_their_heads(rules: RulesType) -> None:
    state = specialised(rules).state
    machine = Weg(rules(CONFIG, {}), state)
    assert next_action(machine, NOT_AUDITED).head is None
    assert machine.state.known == []


@pytest.mark.parametrize("templates", [{}, {"compact": Template("compact", 0.15, {2: GOOD})}], ids=["gone", "for two"])
def test_heads_of_templates_that_do_not_know_them_are_dropped(rules: RulesType, templates: dict[str, Template]) -> None:
    known = specialised(rules).state
    machine = Weg(rules(CONFIG, templates), known)
    assert machine.state.head is None
    assert machine.state.known == []
    tell_oracle(machine, [1, 2, 3] * 10)
