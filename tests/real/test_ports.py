"""Ports for servers of tests: never twice, never another worker's."""

from __future__ import annotations

import random
import socket

import pytest

from tests.real import ports


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_given", set())
    monkeypatch.setattr(ports, "FIRST", 31_200)  # above those that other tests are given
    monkeypatch.setattr(ports, "EACH", 50)


def test_no_port_is_given_twice() -> None:
    given = [ports.free_port("gw0") for _ in range(40)]
    assert len(set(given)) == 40


def test_a_seed_does_not_repeat_the_ports() -> None:
    """Frameworks seed the module's own generator before each test."""
    drawn = []
    for _ in range(2):
        random.seed(0)
        ports._given.clear()
        drawn.append([ports.free_port("gw0") for _ in range(10)])
    assert drawn[0] != drawn[1]


def test_workers_share_no_port() -> None:
    of_two = [{ports.free_port(worker) for _ in range(30)} for worker in ("gw0", "gw1")]
    assert not of_two[0] & of_two[1]


def test_a_port_in_use_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "EACH", 2)
    with socket.socket() as server:
        server.bind(("127.0.0.1", ports.free_port("gw7")))
        for _ in range(20):  # the other one is drawn first every second time
            ports._given.clear()
            assert ports.free_port("gw7") != server.getsockname()[1]


def test_none_left_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "EACH", 1)
    ports.free_port("gw6")
    with pytest.raises(RuntimeError, match="no port from 31206 to 31206 is free"):
        ports.free_port("gw6")
