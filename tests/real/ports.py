"""Ports on loopback for the servers that tests start: no two calls of one test run give the same."""

from __future__ import annotations

import os
import random
import socket
from contextlib import suppress

FIRST, EACH, WORKERS = 15_000, 2_000, 8
"""The first port, the ports of one test worker, and how many workers have ports that no other has.

All are below the ephemeral range, so no client takes one while its server restarts."""

_given: set[int] = set()
_chance = random.SystemRandom()  # not the seeded one: tests that seed it alike would draw alike


def free_port(worker: str = os.environ.get("PYTEST_XDIST_WORKER", "gw0")) -> int:
    """A port that nobody uses at this moment and that this process has not given before.

    Raises ``RuntimeError`` when the ports of ``worker``, ``gwN`` with N counted from zero, are all given or in use.
    """
    first = FIRST + EACH * (int(worker.removeprefix("gw")) % WORKERS)
    for port in _chance.sample(range(first, first + EACH), EACH):
        if port in _given:
            continue
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _given.add(port)
            return port
    raise RuntimeError(f"no port from {first} to {first + EACH - 1} is free")
