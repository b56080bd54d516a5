"""When a server that fails is left alone, and who finds out that it is back."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from serving.remote.breaker import BREAKER, Breaker


def opened(now_s: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(BREAKER.failures):
        breaker.failed(now_s, Random(1))
    return breaker


def test_a_breaker_opens_after_failures_running() -> None:
    breaker = Breaker()
    for _ in range(BREAKER.failures - 1):
        breaker.failed(0.0, Random(1))
    breaker.succeeded()
    for _ in range(BREAKER.failures - 1):
        breaker.failed(0.0, Random(1))
    assert breaker.allows(0.0)
    assert not opened().allows(0.0)


def test_one_call_at_a_time_tries_again_ever_more_seldom() -> None:
    breaker, now_s, waits = opened(), 0.0, []
    for _ in range(12):
        began_s = now_s
        while not breaker.allows(now_s):
            now_s += 0.01
        waits.append(now_s - began_s)
        assert not breaker.allows(now_s + 100)
        breaker.failed(now_s, Random(1))
    assert BREAKER.returns.first_s / 2 <= waits[0] <= BREAKER.returns.first_s + 0.02
    assert all(later > sooner - 0.02 for sooner, later in pairwise(waits))
    assert BREAKER.returns.max_s / 2 <= waits[-1] <= BREAKER.returns.max_s + 0.02


def test_many_that_fail_together_open_it_once() -> None:
    breaker = opened()
    for _ in range(100):
        breaker.failed(0.0, Random(1))
    assert breaker.allows(BREAKER.returns.first_s)


def test_a_try_that_was_given_up_leaves_the_way_to_the_next() -> None:
    breaker = opened()
    assert breaker.allows(10.0)
    breaker.left()
    assert breaker.allows(10.0)
    breaker.failed(10.0, Random(1))
    breaker.returned()
    assert breaker.allows(10.0)


def test_clients_do_not_come_back_in_step() -> None:
    delays = {BREAKER.returns.delay_s(0, Random(seed)) for seed in range(20)}
    assert len(delays) == 20


def test_a_server_that_asks_for_rest_is_left_alone_though_it_did_not_fail() -> None:
    breaker = Breaker()
    breaker.rests(10.0, 60.0)
    breaker.rests(10.0, 5.0)
    assert not breaker.allows(69.9)
    assert breaker.left_s(40.0) == 30.0
    assert breaker.allows(70.0)
