"""A stream of classes under an algorithm of sequential specialization, in virtual time, without networks.

The oracle errs as in appendix C, a head at the rates of its template, both independently of each other and of the
picture: the assumption of eq. 5.1. Training a head takes a number of objects, during which the algorithm goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.weg_parts.printed import next_action
from datasets.streams import ClassStream
from specialization.rates import Rates, Template
from specialization.weg.algorithm import Weg
from specialization.weg.state import Head

BLOCK = 1 << 14


@dataclass
class Account:
    """What a run took and gave."""

    objects: int = 0
    right: int = 0
    oracle_runs: int = 0
    """Audits included."""
    head_runs: int = 0
    by_head: int = 0
    """Answers of a head, without the oracle."""
    right_by_head: int = 0
    trained: int = 0
    entered: int = 0
    """Transitions to a head."""
    left: dict[str, int] = field(default_factory=dict)
    """Heads left, by reason."""

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return self.right / self.objects

    def accuracy_diff(self, oracle_accuracy: float) -> float:
        """To the oracle alone, which would have given the same answers where it was asked."""
        return (self.right_by_head - oracle_accuracy * self.by_head) / self.objects

    def cost(self, template: Template) -> float:
        """Per object, as a share of the oracle's."""
        return (self.oracle_runs + self.head_runs * template.cost) / self.objects


class World:
    """Draws what the oracle and heads answer."""

    def __init__(self, rng: np.random.Generator, classes: int, oracle_accuracy: float) -> None:
        self._uniforms = _uniforms(rng)
        self._classes = classes
        self._oracle_accuracy = oracle_accuracy

    def uniform(self) -> float:
        """The next number from [0, 1)."""
        return next(self._uniforms)

    def oracle(self, label: int) -> int:
        """Right with probability a*, else one of the others."""
        if self.uniform() < self._oracle_accuracy:
            return label
        wrong = int(self.uniform() * (self._classes - 1))
        return wrong + (wrong >= label)

    def head(self, label: int, classes: tuple[int, ...], rates: Rates) -> int | None:
        """One of the classes, or None for "other"."""
        u = self.uniform()
        if label not in classes:
            return None if u < rates.a_out else classes[int(self.uniform() * len(classes))]
        if u < rates.a_in or len(classes) == 1:
            return label if u < 1 - rates.e_in_out else None
        if u < rates.a_in + rates.e_in_out:
            return None
        wrong = int(self.uniform() * (len(classes) - 1))
        return classes[wrong + (wrong >= classes.index(label))]


def simulate(weg: Weg, stream: ClassStream, template: Template, world: World, training_objects: int) -> Account:
    """Every object in turn; a wanted head arrives after so many of them."""
    account = Account()
    head: Head | None = None
    arrives = 0
    for number, label in enumerate(stream.labels.tolist()):
        if weg.state.wanted != head:
            head, arrives = weg.state.wanted, number + training_objects
            account.trained += head is not None
        if head and number >= arrives:
            account.entered += weg.state.head is None
            weg.head_arrived(head.number)
            head = None
        one_object(weg, label, template, world, account)
    return account


def one_object(weg: Weg, label: int, template: Template, world: World, account: Account) -> None:
    """Do what the algorithm asks for, and tell it what came of it."""
    action = next_action(weg, world.uniform())
    account.objects += 1
    if action.head is None:
        answer = world.oracle(label)
        account.oracle_runs += 1
        account.right += answer == label
        weg.oracle_answered(answer)
        return
    classes, number = action.head.target.classes, action.head.number
    rates = template.rates(len(classes))
    assert rates
    said = world.head(label, classes, rates)
    answer = world.oracle(label) if said is None else said
    account.head_runs += 1
    account.oracle_runs += said is None
    account.right += answer == label
    account.by_head += said is not None
    account.right_by_head += said == label
    reasons = [weg.cascade_answered(number, answer, by_head=said is not None)]
    if action.audit and said is not None:
        account.oracle_runs += 1
        reasons.append(weg.audited(number, agrees=world.oracle(label) == said))
    for reason in filter(None, reasons):
        account.left[reason] = account.left.get(reason, 0) + 1


def _uniforms(rng: np.random.Generator) -> Iterator[float]:
    while True:
        yield from rng.random(BLOCK).tolist()
