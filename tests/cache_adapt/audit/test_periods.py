from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.audit.periods import Period, Recent

MEMORY = 40.0


def after(audits: list[tuple[float, bool]]) -> list[Recent]:
    """The periods after each audit; the elder goes as soon as it may."""
    recent, seen = Recent(), []
    for weight, agrees in audits:
        recent = recent.with_audit(weight, agrees, MEMORY)
        if recent.is_full(MEMORY):
            recent = recent.without_elder()
        seen.append(recent)
    return seen


def test_an_audit_counts_with_its_weight() -> None:
    assert Period().with_audit(1.5, True).with_audit(0.5, False) == Period(2.0, 2, 1)


@given(st.lists(st.tuples(st.floats(0.01, 5), st.booleans()), min_size=1, max_size=300))
def test_the_elder_covers_between_half_and_all_of_the_memory(audits: list[tuple[float, bool]]) -> None:
    seen = after(audits)
    for count, recent in enumerate(seen, start=1):
        total = sum(weight for weight, _ in audits[:count])
        assert recent.elder.weight >= min(total, MEMORY / 2) - 1e-9
        assert recent.elder.weight <= MEMORY + 2 * 5
        assert recent.younger.weight < MEMORY / 2
        assert recent.younger.audits <= recent.elder.audits


def test_both_periods_hold_the_latest_audits_and_nothing_else() -> None:
    audits = [(1.0, n % 7 == 0) for n in range(200)]
    for count, recent in enumerate(after(audits), start=1):
        for period in (recent.elder, recent.younger):
            latest = audits[count - period.audits : count]
            assert period == Period(float(len(latest)), len(latest), sum(not agrees for _, agrees in latest))


def test_a_bad_past_is_forgotten() -> None:
    assert after([(1.0, False)] * 100 + [(1.0, True)] * 41)[-1].elder.disagreements == 0


def test_it_survives_as_json() -> None:
    recent = after([(1.25, n % 3 > 0) for n in range(33)])[-1]
    assert msgspec.json.decode(msgspec.json.encode(recent), type=Recent) == recent
