from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from operators.recognise.audits.moments import TrialMoments
from operators.recognise.audits.trial import LONGEST_S, Trial
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.pool import Look, Pool
from operators.wire.schema import Attribute, Model, Provenance


def trial(shadow: bool = False) -> Trial:
    pool = Pool(4, LOOK_RULE.correlation)
    return Trial("variant", shadow, TrialMoments([0.0] * 4), pool, opened_s=0.0, seen_s=0.0)


def look(label: str = "bus", certainty: float = 0.95) -> Look:
    model = Model(name="net", version="1", tier="reference")
    return Look(Attribute(name="type", label=label, confidence=certainty, provenance="oracle", model=model), certainty)


def answer(label: str = "bus", sure: bool = True, looked: Mapping[Provenance, int] | None = None) -> ObjectAnswer:
    return ObjectAnswer(7, label, 0.9, 2, sure, looked or {"oracle": 2})


def test_it_is_done_when_both_have_concluded() -> None:
    mine = trial()
    mine.looked(look())
    assert not mine.is_done(1.0)
    mine.answer = answer()
    assert mine.is_done(1.0)


def test_it_waits_for_looks_that_are_under_way() -> None:
    mine = trial()
    mine.answer, mine.pending, mine.closed = answer(), 1, True
    assert not mine.is_done(1000.0)
    mine.pending = 0
    assert mine.is_done(1.0)


def test_the_other_looks_until_it_is_sure() -> None:
    mine = trial()
    assert mine.wants(0.0, whole=True)
    mine.looked(look(certainty=0.6))
    assert mine.wants(1.0, whole=True)
    mine.looked(look())
    mine.looked(look())
    assert not mine.wants(2.0, whole=True)


def test_it_is_done_when_the_looks_are_used_up() -> None:
    mine = trial()
    mine.answer = answer()
    for second in range(4):
        assert not mine.is_done(second)
        assert mine.wants(float(second), whole=True)
        mine.looked(look(certainty=0.3))
    assert mine.is_done(3.0)
    assert mine.agrees is None


def test_it_is_done_when_the_object_has_gone() -> None:
    mine = trial()
    mine.answer = answer()
    mine.wants(5.0, whole=False)
    assert not mine.is_done(5.0 + LOOK_RULE.closed_after_s)
    assert mine.is_done(5.1 + LOOK_RULE.closed_after_s)
    assert not mine.can_be_compared


def test_an_object_that_never_leaves_the_border_does_not_keep_it_open() -> None:
    mine = trial()
    mine.wants(LONGEST_S, whole=False)
    assert not mine.is_done(LONGEST_S)
    assert mine.is_done(LONGEST_S + 0.1)
    assert not mine.can_be_compared


@pytest.mark.parametrize(("published", "agrees"), [("bus", True), ("van", False)])
def test_in_service_the_looks_of_the_oracle_are_the_measure(published: str, agrees: bool) -> None:
    mine = trial()
    mine.looked(look("bus"))
    mine.answer = answer(published, sure=False, looked={"variant": 3})
    assert mine.can_be_compared
    assert (mine.agrees, mine.word) == (agrees, "bus")


def test_in_service_an_oracle_that_is_not_sure_says_nothing() -> None:
    mine = trial()
    mine.looked(look("bus", 0.5))
    mine.answer = answer("bus", looked={"variant": 3})
    assert mine.agrees is None


@pytest.mark.parametrize(("published", "agrees"), [("bus", True), ("van", False)])
def test_in_the_shadow_what_was_published_is_the_measure(published: str, agrees: bool) -> None:
    mine = trial(shadow=True)
    mine.looked(look("bus", 0.4))
    mine.answer = answer(published)
    assert mine.can_be_compared
    assert (mine.agrees, mine.word) == (agrees, published)
    mine.answer = answer(published, sure=False)
    assert mine.agrees is None


def test_in_the_shadow_what_others_have_answered_is_no_measure() -> None:
    mine = trial(shadow=True)
    mine.looked(look("bus"))
    mine.answer = answer("bus", looked={"oracle": 1, "specialised": 1})
    assert not mine.can_be_compared


def test_without_a_look_of_the_other_there_is_nothing_to_compare() -> None:
    mine = trial()
    mine.answer = answer()
    assert not mine.can_be_compared


def test_what_was_heard_and_not_what_was_published_is_compared_with_the_oracle() -> None:
    mine = trial()
    mine.heard = Pool(4, LOOK_RULE.correlation)
    mine.heard_look(look("car"))
    mine.answer = answer("bus", looked={"variant": 2})
    for _ in range(3):
        mine.heard_look(look("bus"))  # it is concluded what would have been published
        mine.looked(look("bus"))
    mine.crop = np.zeros((4, 4, 3), np.uint8)
    assert mine.can_be_compared
    assert (mine.agrees, mine.word) == (False, "bus")
    evidence = mine.evidence
    assert evidence is not None
    assert (evidence.shortcut.label, evidence.oracle.label, evidence.in_shadow) == ("car", "bus", True)
