"""The pure decisions of the client."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import grpc
import pytest

from serving.common.clock import SYSTEM
from serving.remote.client.address import BackendAddress
from serving.remote.client.call_times import BAND, LEAST_CALLS, CallTimes
from serving.remote.client.calls import failure
from serving.remote.client.pick import pick
from serving.remote.client.servers import Servers, resolved
from serving.remote.peers import is_here
from serving.remote.protocol.parameters import WireLimits


def test_the_less_busy_of_two_is_picked() -> None:
    loads = [9, 1, 2, 3]
    rng = Random(1)
    picked = Counter(pick(loads, rng) for _ in range(6000))
    assert picked[0] == 0
    shares = [picked[place] / 6000 for place in (1, 2, 3)]
    assert shares == pytest.approx([3 / 6, 2 / 6, 1 / 6], abs=0.03)
    assert pick(loads[:1], rng) == 0


def test_times_follow_what_service_shows_once_it_is_sure() -> None:
    times = CallTimes()
    times.took(1, 0.5)  # as long as nothing was measured it tells nothing
    assert times.current() == {}
    times.measured({1: 0.01, 8: 0.03})
    for _ in range(LEAST_CALLS - 1):
        times.took(8, 0.3)
    assert times.current() == {1: 0.01, 8: 0.03}
    for _ in range(LEAST_CALLS):
        times.took(8, 0.3)
    assert times.current() == pytest.approx({1: 0.1, 8: 0.3}, rel=0.05)
    for _ in range(50):
        times.took(16, 0.6)
    assert times.current() == pytest.approx({1: 0.1, 8: 0.3}, rel=0.05)


def test_times_within_a_band_are_left_alone() -> None:
    times = CallTimes()
    times.measured({2: 0.02})
    for _ in range(100):
        times.took(2, 0.02 * (BAND - 0.1))
    assert times.current() == {2: 0.02}


@pytest.mark.parametrize(
    ("code", "server", "again", "late", "anew"),
    [
        (grpc.StatusCode.UNAVAILABLE, True, True, False, False),
        (grpc.StatusCode.INTERNAL, True, True, False, False),
        (grpc.StatusCode.DEADLINE_EXCEEDED, True, False, True, False),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, False, True, False, False),
        (grpc.StatusCode.UNAUTHENTICATED, False, False, False, False),
        (grpc.StatusCode.NOT_FOUND, False, False, False, True),
        (grpc.StatusCode.UNIMPLEMENTED, False, False, False, True),
    ],
)
def test_what_a_status_means(code: grpc.StatusCode, server: bool, again: bool, late: bool, anew: bool) -> None:
    found = failure(code, "no")
    assert (found.server, found.again, found.late, found.anew) == (server, again, late, anew)


@pytest.mark.parametrize(
    ("target", "here"),
    [
        ("unix:/run/sluice.sock", True),
        ("ipv4:127.0.0.1:8001", True),
        ("ipv6:[::1]:8001", True),
        ("ipv4:10.0.0.1:8001", False),
        ("ipv6:[fe80::1]:8001", False),
        ("dns:gpu-1:8001", False),
    ],
)
def test_memory_is_shared_on_this_machine_only(target: str, here: bool) -> None:
    assert is_here(target) is here


async def test_a_name_has_addresses(tmp_path: Path) -> None:
    async def targets(*urls: str) -> list[str]:
        return list(await resolved(BackendAddress("gpu", urls)))

    one, other, unknown = "grpc://127.0.0.1:8001", "grpc://[::1]:8001", "grpc://no-such-host.invalid:1"
    assert await targets(one) == ["ipv4:127.0.0.1:8001"]
    assert await targets(other) == ["ipv6:[::1]:8001"]
    assert await targets(f"unix://{tmp_path}/s") == [f"unix:{tmp_path}/s"]
    assert await targets(one, unknown, other) == ["ipv4:127.0.0.1:8001", "ipv6:[::1]:8001"]
    with pytest.raises(OSError, match=r"resolution|known"):
        await targets(unknown)
    with pytest.raises(OSError, match=r"gpu..1 is no name of a machine"):
        await targets("grpc://gpu..1:8001")


async def test_servers_of_a_name_that_cannot_be_looked_up_for_a_moment_stay() -> None:
    found = {"ipv4:127.0.0.1:1": "a:1", "ipv4:127.0.0.1:2": "b:1"}

    async def targets(_: BackendAddress) -> dict[str, str]:
        return dict(found)

    servers = Servers(BackendAddress("gpu", ("grpc://a:1", "grpc://b:1")), WireLimits(), SYSTEM, Random(1), targets)
    await servers.start()
    for now in ({"ipv4:127.0.0.1:1": "a:1"}, {"ipv4:127.0.0.1:1": "a:1", "ipv4:127.0.0.1:3": "b:1"}):
        before, found = {*servers._servers}, now
        await servers._look()
        assert {*servers._servers} == (before if len(now) == 1 else {*now})
    await servers.close()
