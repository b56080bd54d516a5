"""One stream of pictures, object by object: by the oracle alone, and by the oracle with specialization, in turns.

What is timed is everything from a picture to its answer: preprocessing, networks, head, and the algorithm's own work;
audits count too. A head is trained between two objects, alone on the machine, and timed. It is in use once our own
clock has advanced by that time: till then the oracle goes on, as it does where another core or process trains.

Times are processor seconds, so that whatever else the machine does changes nothing: all the work is done by one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import process_time

from numpy.random import Generator

from benchmarks.weg_parts.heads import OTHER, SpecialisedHead
from benchmarks.weg_parts.image_sets import Image, ImageSet, Look
from benchmarks.weg_parts.printed import next_action
from serving.errors import SluiceError
from specialization.weg.algorithm import Weg
from specialization.weg.state import Head

BLOCK = 20
"""Objects that one of the two answers before it is the other's turn."""

Train = Callable[[Head], SpecialisedHead]
Clock = Callable[[], float]
"""Seconds."""


@dataclass
class Account:
    """What a run took and gave; times in seconds, for all objects together."""

    objects: int = 0
    oracle_s: float = 0.0
    ours_s: float = 0.0
    training_s: list[float] = field(default_factory=list)
    oracle_right: int = 0
    ours_right: int = 0
    agreed: int = 0
    by_head: int = 0
    under_head: int = 0
    entered: int = 0

    @property
    def speedup(self) -> float:
        """With heads trained on another core."""
        return self.oracle_s / self.ours_s

    @property
    def speedup_one_core(self) -> float:
        """With everything waiting while a head is trained."""
        return self.oracle_s / (self.ours_s + sum(self.training_s))

    @property
    def accuracy_diff(self) -> float:
        """To the oracle on the same pictures, in fractions; negative where ours is worse."""
        return (self.ours_right - self.oracle_right) / self.objects


class Ours:
    """The cascade as the recogniser's operator runs it, without anything around it."""

    def __init__(self, images: ImageSet, weg: Weg, train: Train, rng: Generator, clock: Clock = process_time) -> None:
        self._oracle, self._features = images.oracle, images.features
        self._weg, self._train, self._rng = weg, train, rng
        self._heads: dict[int, SpecialisedHead] = {}
        self._arrives: tuple[Head, float] | None = None
        self.clock, self.account = clock, Account()

    def answer(self, image: Image) -> int:
        """The class of one picture."""
        action = next_action(self._weg, self._rng.random())
        if action.head is None:
            label = asked(self._oracle, image)
            self._weg.oracle_answered(label)
            return label
        number = action.head.number
        said = int(self._heads[number].decide(self._features([image]))[0])
        by_head = said != OTHER
        label = said if by_head else asked(self._oracle, image)
        self._weg.cascade_answered(number, label, by_head)
        if action.audit and by_head:
            self._weg.audited(number, agrees=asked(self._oracle, image) == said)
        self.account.under_head += 1
        self.account.by_head += by_head
        return label

    def attend(self) -> None:
        """Between objects: train the head that is wanted, let in the one whose training would have ended."""
        wanted, now_s = self._weg.state.wanted, self.account.ours_s
        if wanted is None:
            self._arrives = None
        elif self._arrives is None or self._arrives[0] != wanted:
            self._have_trained(wanted, now_s)
        elif now_s >= self._arrives[1]:
            self.account.entered += self._weg.state.head is None
            self._weg.head_arrived(wanted.number)

    def _have_trained(self, wanted: Head, now_s: float) -> None:
        begun = self.clock()
        try:
            self._heads[wanted.number] = self._train(wanted)
        except SluiceError:
            self._weg.head_failed(wanted.number)
        took = self.clock() - begun
        self.account.training_s.append(took)
        self._arrives = (wanted, now_s + took)


def asked(oracle: Look, image: Image) -> int:
    """What the oracle says of one picture."""
    return int(oracle([image])[0].argmax())


def measured(images: ImageSet, labels: Sequence[int], ours: Ours, rng: Generator) -> Account:
    """Both on every object, in blocks in random order; pictures are drawn beforehand, unmeasured."""
    account = ours.account
    for start in range(0, len(labels), BLOCK):
        truth = labels[start : start + BLOCK]
        pictures = [images.draw(rng, label) for label in truth]
        if rng.random() < 0.5:
            alone, answers = _alone(images.oracle, pictures, ours), _specialised(ours, pictures)
        else:
            answers, alone = _specialised(ours, pictures), _alone(images.oracle, pictures, ours)
        account.objects += len(truth)
        account.oracle_right += _equal(alone, truth)
        account.ours_right += _equal(answers, truth)
        account.agreed += _equal(answers, alone)
    return account


def _alone(oracle: Look, pictures: Sequence[Image], ours: Ours) -> list[int]:
    begun = ours.clock()
    answers = [asked(oracle, picture) for picture in pictures]
    ours.account.oracle_s += ours.clock() - begun
    return answers


def _specialised(ours: Ours, pictures: Sequence[Image]) -> list[int]:
    answers = []
    for picture in pictures:
        begun = ours.clock()
        answers.append(ours.answer(picture))
        ours.account.ours_s += ours.clock() - begun
        ours.attend()
    return answers


def _equal(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))
