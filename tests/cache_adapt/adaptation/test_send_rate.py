"""How many samples are sent in which time."""

from __future__ import annotations

from cache_adapt.adaptation.send_rate import AT_ONCE, PER_S, SendRate


def test_some_at_first_then_so_many_in_a_time():
    rate, sent = SendRate(0.0), 0
    for second in range(3600):
        while rate.allows(7, float(second)):
            rate.sent(7)
            sent += 7
    assert AT_ONCE + 3600 * PER_S - 14 <= sent <= AT_ONCE + 3600 * PER_S


def test_no_more_are_saved_up_than_fit_and_a_clock_that_stands_gives_none():
    rate = SendRate(0.0)
    assert rate.allows(AT_ONCE, 1e9)
    assert not rate.allows(AT_ONCE + 1, 1e9)
    rate.sent(AT_ONCE)
    assert not rate.allows(1, 1e9)
    assert not rate.allows(1, 0.0)
