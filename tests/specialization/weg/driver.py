"""Templates, parameters and short scripts for tests of the algorithm."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.weg_parts.printed import Printed, next_action
from specialization.rates import Rates, Template
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Rules, Weg
from specialization.weg.config import WegConfig

GOOD = Rates(0.88, 0.08, 0.9)
COMPACT = Template("compact", 0.15, {1: Rates(0.95, 0.04, 0.95), 5: GOOD, 15: Rates(0.8, 0.12, 0.88)})
CONFIG = WegConfig(classes=500, oracle_accuracy=0.85, tau_a=0.0)
ALL_RULES: list[type[Printed] | type[Adaptive]] = [Printed, Adaptive]
AUDITED, NOT_AUDITED = 0.0, 0.999


def weg(rules: type[Printed] | type[Adaptive], config: WegConfig = CONFIG) -> Weg:
    """A new one with the compact template."""
    made: Rules = rules(config, {"compact": COMPACT})
    return Weg(made)


def tell_oracle(machine: Weg, answers: Sequence[int]) -> None:
    """The oracle answered so, if it was asked."""
    for answer in answers:
        assert next_action(machine, NOT_AUDITED).head is None
        machine.oracle_answered(answer)


def specialised(rules: type[Printed] | type[Adaptive], config: WegConfig = CONFIG) -> Weg:
    """One that uses a head for the classes 1, 2 and 3."""
    machine = weg(rules, config)
    tell_oracle(machine, [1, 2, 3] * 10)
    assert machine.state.wanted
    machine.head_arrived(machine.state.wanted.number)
    return machine


def tell_cascade(machine: Weg, answers: Sequence[int]) -> list[str]:
    """The cascade answered so, classes of the head without the oracle; the reasons for which heads were left."""
    reasons = []
    for answer in answers:
        head = machine.state.head
        if head is None:
            break
        reasons.append(machine.cascade_answered(head.number, answer, by_head=answer in head.target.classes))
    return [reason for reason in reasons if reason]
