"""Two published answers for one object, compared."""

from __future__ import annotations

import numpy as np
import pytest

from operators.audits.audit_report import Audited
from operators.recognise.audits.comparing import AuditOutcome
from operators.wire.bounds import LONGEST_MEDIA_S
from tests.operators.recognise.objects.looks import look


def compared(said: str, reference: str, shadow: bool = False) -> AuditOutcome:
    picture = np.zeros((4, 4, 3), np.uint8)
    answers = look(said, 0.7).said, look(reference, 0.9).said
    return AuditOutcome("variant", 3, *answers, shadow, frozenset({"unknown"}), 7, picture)


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
    outcome = compared(said, reference)
    assert (outcome.agrees, outcome.lost) == (agrees, lost)


@pytest.mark.parametrize("shadow", [True, False])
@pytest.mark.parametrize(("at_s", "told_s"), [(12.5, 12.5), (1e300, LONGEST_MEDIA_S), (-1e300, -LONGEST_MEDIA_S)])
def test_a_disagreement_says_which_models_said_what_and_when(at_s: float, told_s: float, shadow: bool) -> None:
    found = compared("van", "bus", shadow).disagreement("cam", Audited("type", "variant", "big", ["small"]), at_s)
    assert (found.stream, found.node, found.kind, found.track_id) == ("cam", "type", "variant", 7)
    assert (found.media_time_s, found.in_shadow) == (told_s, shadow)
    assert (found.shortcut.models, found.oracle.models) == (["small"], ["big"])
    said, reference = found.shortcut.found[0], found.oracle.found[0]
    assert (said.label, said.confidence, reference.label, reference.confidence) == ("van", 0.7, "bus", 0.9)
