from __future__ import annotations

import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.audit.periods import Period, PeriodLimits, Recent

LIMITS = PeriodLimits(audits=40.0, objects=math.inf)
Told = list[bool | None]


def after(audits: Told, limits: PeriodLimits = LIMITS) -> list[Recent]:
    """The periods after each audit; the elder goes as soon as it may."""
    recent, seen = Recent(), []
    for agrees in audits:
        recent = recent.with_audit(agrees, limits)
        if recent.is_full(limits):
            recent = recent.without_elder()
        seen.append(recent)
    return seen


def test_an_audit_counts_for_or_against_or_neither() -> None:
    assert Period().with_audit(True).with_audit(False).with_audit(None).with_object() == Period(1, 2, 1, 1)


def test_names_that_are_lost_are_counted_among_those_that_were_given() -> None:
    told = Period().with_audit(False, lost=True).with_audit(True, lost=False).with_audit(False).with_audit(None)
    assert (told.audits, told.disagreements, told.named, told.lost) == (3, 2, 2, 1)
    limits = PeriodLimits(audits=4.0, objects=math.inf)
    recent = Recent()
    for lost in (True, True, False, False):
        recent = recent.with_audit(not lost, limits, lost)
    assert (recent.elder.named, recent.elder.lost) == (4, 2)
    assert (recent.younger.named, recent.younger.lost) == (2, 0)


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=300))
def test_the_elder_covers_between_half_and_all_of_the_memory(audits: Told) -> None:
    for count, recent in enumerate(after(audits), start=1):
        told = recent.elder.audits + recent.elder.unsure
        assert min(count, 20) <= told <= 40
        assert recent.younger.audits + recent.younger.unsure < 20


def test_both_periods_hold_the_latest_audits_and_nothing_else() -> None:
    audits: Told = [None if n % 5 == 0 else n % 7 == 0 for n in range(200)]
    for count, recent in enumerate(after(audits), start=1):
        for period in (recent.elder, recent.younger):
            latest = audits[count - period.audits - period.unsure : count]
            assert period == Period(
                0, latest.count(True) + latest.count(False), latest.count(False), latest.count(None)
            )


def test_a_bad_past_is_forgotten() -> None:
    assert after([False] * 100 + [True] * 41)[-1].elder.disagreements == 0


def test_a_proof_grows_old_by_the_objects_that_it_speaks_of() -> None:
    limits, recent = PeriodLimits(audits=1000, objects=40), Recent().with_audit(True, LIMITS)
    for objects in range(1, 41):
        assert not recent.is_full(limits)
        recent = recent.with_object(limits)
        assert recent.younger.objects == max(0, objects - 20)
    assert recent.is_full(limits)
    assert recent.without_elder() == Recent(Period(objects=20))


def test_it_survives_as_json() -> None:
    recent = after([n % 3 > 0 for n in range(33)])[-1]
    assert msgspec.json.decode(msgspec.json.encode(recent), type=Recent) == recent
