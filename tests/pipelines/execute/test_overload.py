"""The policies' decisions, and the estimate that drop_late relies on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.execute.overload import POLICIES, Block, DropLate, DropOldest, ServiceTime, WaitingFrame

FRAME = WaitingFrame(seq=7, deadline=10.0)


@pytest.mark.parametrize(
    ("policy", "newer_waiting", "now", "service_s", "late"),
    [
        (Block(), True, 99.0, 5.0, False),
        (DropOldest(), True, 9.9, 5.0, False),
        (DropOldest(), True, 10.1, 0.0, True),
        (DropOldest(), False, 99.0, 0.0, False),
        (DropLate(), False, 9.0, 0.5, False),
        (DropLate(), False, 9.0, 1.5, True),
        (DropLate(), True, 10.1, 0.0, True),
    ],
)
def test_late(policy, newer_waiting, now, service_s, late):
    assert policy.late(FRAME, newer_waiting, now, service_s) is late


@pytest.mark.parametrize(("policy", "victim"), [(Block(), None), (DropOldest(), 0), (DropLate(), 0)])
def test_overflow(policy, victim):
    assert policy.overflow([FRAME, WaitingFrame(8, 11.0)]) == victim


def test_every_policy_is_found_by_its_name():
    assert {name: policy.name for name, policy in POLICIES.items()} == {name: name for name in POLICIES}


@given(st.floats(0.001, 10), st.integers(1, 200))
def test_drop_late_always_tries_again_after_a_slow_spell(slow_s, observations):
    service = ServiceTime()
    for _ in range(observations):
        service.observe(slow_s)
    slo_s = 0.1
    drops = 0
    while DropLate().late(WaitingFrame(0, slo_s), False, 0.0, service.seconds):
        service.dropped()
        drops += 1
    assert drops < 60


def test_service_time_approaches_what_it_observes():
    service = ServiceTime()
    for _ in range(50):
        service.observe(0.4)
    assert service.seconds == pytest.approx(0.4, rel=0.01)
