"""A real Kafka broker for tests, as fixtures, and for people: ``python -m tests.real.kafka up|down|status``.

``ready`` fetches and makes what all brokers start from, once, before tests that run at once all do.

``SLUICE_TEST_KAFKA=host:port`` makes the tests use a broker that is there already.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.broker import ARCHIVE, CACHE, FORMATTED, VERSION, KafkaBroker, MissingError, jars
from tests.real.require import unavailable

__all__ = ["KafkaBroker", "RemoteBroker", "kafka_broker", "own_kafka_broker", "require_jars", "topic_prefix"]

HOW = "apt-get install openjdk-17-jre-headless maven (or set SLUICE_TEST_KAFKA=host:port to use a running broker)"


@dataclass(frozen=True)
class RemoteBroker:
    """A broker that was there already (``SLUICE_TEST_KAFKA``); tests cannot stop it."""

    bootstrap: str


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[KafkaBroker | RemoteBroker]:
    """A real broker shared by the whole session: use ``topic_prefix`` and group names of your own."""
    named = os.environ.get("SLUICE_TEST_KAFKA")
    if named:
        yield RemoteBroker(named)
        return
    require_jars()
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture
def own_kafka_broker() -> Iterator[KafkaBroker]:
    """A real broker for one test that stops, kills or restarts it."""
    require_jars()
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture
def topic_prefix() -> str:
    """A prefix that no other test uses."""
    return f"test-{uuid.uuid4().hex[:8]}."


def require_jars() -> None:
    """Skip, or fail where real parts are demanded, if no broker can be started here."""
    try:
        jars()
    except MissingError as missing:
        unavailable("A Kafka broker", str(missing), HOW)


def _running(directory: Path) -> int | None:
    """The pid of the broker that ``up`` left running on this directory."""
    try:
        pid = int((directory / "broker.pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if str(directory / "server.properties").encode() in command else None


def _up(directory: Path, port: int) -> str:
    if _running(directory) is None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                raise SystemExit(f"port {port} is taken: name another with `up PORT`") from None
        broker = KafkaBroker(directory, port)
        broker.start()
        assert broker.process is not None
        (directory / "broker.pid").write_text(str(broker.process.pid))
        (directory / "port").write_text(str(port))
    return _status(directory)


def _down(directory: Path) -> str:
    pid = _running(directory)
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        while _running(directory) is not None:
            time.sleep(0.1)
    return f"Kafka is stopped; its data stays in {directory}: remove that folder to start afresh"


def _status(directory: Path) -> str:
    if _running(directory) is None:
        return "Kafka is not running: start it with `make kafka-up`"
    address = f"127.0.0.1:{(directory / 'port').read_text()}"
    return (
        f"Kafka {VERSION} runs on {address} (pid {_running(directory)}, data and log in {directory})\n"
        f"  export SLUICE_BROKER=kafka://{address}   # or --broker\n"
        "  sluice topics create                     # then: sluice capture, worker, watch\n"
        "  make kafka-down                          # stops it, keeps the data"
    )


def _ready() -> None:
    """Without Java or Maven this does nothing: the tests skip, or fail, and say why."""
    with suppress(MissingError):
        if not (ARCHIVE.exists() and FORMATTED.is_dir()):
            with KafkaBroker():
                pass


def main(arguments: list[str]) -> None:
    """``ready | up [PORT] | down | status``."""
    directory = CACHE / "kafka-data"
    match arguments:
        case ["up", *rest] if len(rest) <= 1 and all(word.isdigit() for word in rest):
            try:
                print(_up(directory, int(rest[0]) if rest else 9092))
            except (MissingError, RuntimeError) as error:
                raise SystemExit(
                    f"{error}. To get it: {HOW}" if isinstance(error, MissingError) else str(error)
                ) from None
        case ["down"]:
            print(_down(directory))
        case ["ready"]:
            _ready()
        case ["status"]:
            print(_status(directory))
        case _:
            raise SystemExit("usage: python -m tests.real.kafka ready | up [PORT] | down | status")


if __name__ == "__main__":
    main(sys.argv[1:])
