"""Two published answers for one object, compared."""

from __future__ import annotations

import numpy as np
import pytest

from operators.audits.audit_report import Audited
from operators.recognise.audits.comparing import ComparedAnswers
from operators.recognise.audits.disagreeing import disagreement
from operators.wire.bounds import LONGEST_MEDIA_S
from tests.operators.recognise.objects.looks import look


def compared(said: str, reference: str, shadow: bool = False) -> ComparedAnswers:
    picture = np.zeros((4, 4, 3), np.uint8)
    return ComparedAnswers(look(said, 0.7).said, look(reference, 0.9).said, shadow, frozenset({"unknown"}), 7, picture)


@pytest.mark.parametrize(
    ("said", "reference", "agrees", "lost"),
    [
        ("bus", "bus", True, False),
        ("van", "bus", False, True),
        ("unknown", "bus", False, True),  # a name that was given is gone
        ("bus", "unknown", False, None),  # there was no name to lose
        ("unknown", "unknown", True, None),
    ],
)
def test_unknown_is_a_word_and_names_that_are_lost_are_counted_apart(
    said: str, reference: str, agrees: bool, lost: bool | None
) -> None:
    outcome = compared(said, reference).outcome("cam", "variant", 3)
    assert (outcome.agrees, outcome.lost, outcome.number) == (agrees, lost, 3)
    assert (outcome.stream, outcome.key) == ("cam", "variant")
    assert (outcome.evidence is None) == agrees


@pytest.mark.parametrize("shadow", [True, False])
def test_the_evidence_has_both_answers_and_the_object(shadow: bool) -> None:
    found = compared("van", "bus", shadow)
    evidence = found.outcome("cam", "variant", None).evidence
    assert evidence is not None
    assert evidence.picture is found.picture
    assert (evidence.shortcut.label, evidence.shortcut.confidence) == ("van", 0.7)
    assert (evidence.oracle.label, evidence.oracle.confidence) == ("bus", 0.9)
    assert (evidence.track_id, evidence.in_shadow) == (7, shadow)


@pytest.mark.parametrize(("at_s", "told_s"), [(12.5, 12.5), (1e300, LONGEST_MEDIA_S), (-1e300, -LONGEST_MEDIA_S)])
def test_a_disagreement_says_which_models_said_what_and_when(at_s: float, told_s: float) -> None:
    outcome = compared("van", "bus").outcome("cam", "variant", None)
    assert outcome.evidence is not None
    found = disagreement(Audited("type", "variant", "big", ["small"]), outcome, outcome.evidence, at_s)
    assert (found.stream, found.node, found.kind, found.track_id) == ("cam", "type", "variant", 7)
    assert (found.media_time_s, found.in_shadow) == (told_s, False)
    assert (found.shortcut.models, found.oracle.models) == (["small"], ["big"])
