"""The policies' decisions, and the estimate that drop_late relies on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.execute.overload import POLICIES, StreamPatience


@pytest.mark.parametrize(
    ("policy", "newer_waiting", "now_s", "service_s", "late"),
    [
        ("block", True, 99.0, 5.0, False),
        ("drop_oldest", True, 9.9, 5.0, False),
        ("drop_oldest", True, 10.1, 0.0, True),
        ("drop_oldest", False, 99.0, 0.0, False),
        ("drop_late", False, 9.0, 0.5, False),
        ("drop_late", False, 9.0, 1.5, True),
        ("drop_late", True, 10.1, 0.0, True),
    ],
)
def test_late(policy, newer_waiting, now_s, service_s, late):
    assert POLICIES[policy](10.0, newer_waiting, now_s, service_s) is late
    patience = StreamPatience(policy)
    patience.service_s = service_s
    assert patience.late(10.0, newer_waiting, now_s) is late


def test_only_those_who_block_are_patient():
    assert [policy for policy in POLICIES if StreamPatience(policy).patient] == ["block"]


@given(st.floats(0.001, 10), st.integers(1, 200))
def test_drop_late_always_tries_again_after_a_slow_spell(slow_s, observations):
    patience = StreamPatience("drop_late")
    for _ in range(observations):
        patience.analysed(slow_s)
    slo_s = 0.1
    drops = 0
    while patience.late(slo_s, newer_waiting=False, now_s=0.0):
        patience.dropped()
        drops += 1
    assert drops < 60


def test_the_time_that_a_frame_takes_approaches_what_was_seen():
    patience = StreamPatience("drop_late")
    for _ in range(50):
        patience.analysed(0.4)
    assert patience.service_s == pytest.approx(0.4, rel=0.01)
