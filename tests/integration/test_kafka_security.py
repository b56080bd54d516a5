"""SASL and TLS settings reach the broker, and what is wrong with them is said at once, by every command."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.kafka.async_clients import knock, wait_for_broker
from pipelines.kafka.rights import needs
from pipelines.settings import BrokerSettings, broker_settings
from serving.errors import BadInput, Unavailable
from tests.integration.kafka_side import create_topic, write_query
from tests.integration.test_worker import results_of, working
from tests.integration.worker_parts import CountingAnalyser, Wire, frame_message
from tests.real.command import sluice
from tests.real.ports import free_port
from tests.real.secured import PASSWORD, SecuredBroker, allow

pytestmark = pytest.mark.kafka

STREET = "synthetic:street?seed=1&duration_s=4"
COMMANDS: dict[str, tuple[object, ...]] = {
    "topics": ("topics", "describe", "--broker-timeout", 600),
    "capture": ("capture", "QUERY", "--source", STREET, "--limit", 3, "--broker-timeout", 600),
    "worker": ("worker", "QUERY", "--broker-timeout", 600),
    "watch": ("watch",),
}
"""All would wait for longer than a test may take."""


def refused(name: str, folder: Path, server: str, env: Mapping[str, str]) -> str:
    """The one line with which the command ends; a broker that is busy may be tried again before."""
    query = write_query(folder)
    words = [query if word == "QUERY" else word for word in COMMANDS[name]]
    done = sluice(*words, "--broker", server, env=env)
    assert done.returncode == 2, done.stderr
    *waits, line = done.stderr.splitlines()
    assert all("trying" in wait and "refuses" not in wait for wait in waits), done.stderr
    return line


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_password_and_certificate_are_used(
    secured_broker: SecuredBroker, topic_prefix: str, mechanism: str
) -> None:
    env = secured_broker.environment(SASL_MECHANISM=mechanism)
    done = sluice("topics", "create", "--broker", secured_broker.sasl_ssl, "--prefix", topic_prefix, env=env)
    assert done.returncode == 0, done.stderr
    assert f"{topic_prefix}frames.v1: created" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_names_a_wrong_password_and_does_not_show_it(
    secured_broker: SecuredBroker, tmp_path: Path, name: str
) -> None:
    line = refused(name, tmp_path, secured_broker.sasl_ssl, secured_broker.environment("gue55ed"))
    assert "refuses the user 'alice' by SCRAM-SHA-256" in line
    assert "SLUICE_KAFKA_PASSWORD" in line
    assert "gue55ed" not in line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_names_a_certificate_that_it_does_not_trust(
    secured_broker: SecuredBroker, tmp_path: Path, name: str
) -> None:
    env = secured_broker.environment(CAFILE=str(secured_broker.other_cafile))
    line = refused(name, tmp_path, secured_broker.sasl_ssl, env)
    assert "is not trusted: self-signed certificate in certificate chain" in line
    assert "other.pem (SLUICE_KAFKA_CAFILE) does not hold its authority" in line


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("topics", "let this user see"),
        ("capture", "write topic sluice.frames.v1"),
        ("worker", "read group sluice.test"),
        ("watch", "read topic sluice.results.v1"),
    ],
)
def test_every_command_names_the_right_that_is_missing(
    secured_broker: SecuredBroker, tmp_path: Path, name: str, lacks: str
) -> None:
    line = refused(name, tmp_path, secured_broker.sasl_ssl, secured_broker.environment(user="bob"))
    assert lacks in line
    assert "grant" in line


CLOSES = "it closes the connection: it may still be starting; else name a port that speaks"


@pytest.mark.parametrize(
    ("listener", "changes", "told"),
    [
        ("sasl_ssl", {"USERNAME": "eve"}, "refuses the user 'eve'"),
        ("sasl_ssl", {"SASL_MECHANISM": "PLAIN", "PASSWORD": "gue55ed"}, "refuses the user 'alice' by PLAIN"),
        ("sasl_plaintext", {"SECURITY_PROTOCOL": "SASL_PLAINTEXT", "CAFILE": ""}, "to one that it knows"),
        ("sasl_ssl", {"CAFILE": ""}, "name the certificate of its authority in SLUICE_KAFKA_CAFILE"),
        ("expired", {"SASL_MECHANISM": "PLAIN"}, "certificate has expired"),
        ("by_name", {}, "give the broker's address as its certificate has it"),
        ("plaintext", {"SECURITY_PROTOCOL": "SASL_PLAINTEXT", "CAFILE": ""}, "wants no user here"),
    ],
)
async def test_what_is_wrong_is_told_apart(
    secured_broker: SecuredBroker, listener: str, changes: dict[str, str], told: str
) -> None:
    found = await knock(settings(secured_broker, listener, changes), timeout_s=60)
    assert found is not None
    assert found.final
    assert told in found.text


@pytest.mark.parametrize(
    ("listener", "changes"),
    [
        ("plaintext", {}),
        ("sasl_plaintext", {}),
        ("sasl_ssl", {"SECURITY_PROTOCOL": "SASL_PLAINTEXT", "CAFILE": ""}),
        ("sasl_ssl", {"SECURITY_PROTOCOL": "PLAINTEXT"}),
        ("sasl_ssl", {"SECURITY_PROTOCOL": "SSL"}),
        ("sasl_plaintext", {"SECURITY_PROTOCOL": "PLAINTEXT"}),
    ],
)
async def test_a_listener_of_another_protocol_closes_and_the_line_names_the_setting(
    secured_broker: SecuredBroker, listener: str, changes: dict[str, str]
) -> None:
    wrong = settings(secured_broker, listener, changes)
    found = await knock(wrong, timeout_s=60)
    assert found is not None
    assert not found.final
    assert f"{CLOSES} {wrong.security_protocol}, or set SLUICE_KAFKA_SECURITY_PROTOCOL to what" in found.text


def settings(broker: SecuredBroker, listener: str, changes: dict[str, str]) -> BrokerSettings:
    env = broker.environment() | {f"SLUICE_KAFKA_{name}": value for name, value in changes.items()}
    if not env["SLUICE_KAFKA_SECURITY_PROTOCOL"].startswith("SASL"):
        env |= {"SLUICE_KAFKA_USERNAME": "", "SLUICE_KAFKA_PASSWORD": ""}
    if env["SLUICE_KAFKA_SECURITY_PROTOCOL"] == "PLAINTEXT":
        env["SLUICE_KAFKA_CAFILE"] = ""
    address = broker.sasl_ssl.replace("127.0.0.1", "localhost") if listener == "by_name" else None
    return broker_settings(address or getattr(broker, listener), env)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_names_a_protocol_that_the_listener_does_not_speak(
    secured_broker: SecuredBroker, tmp_path: Path, name: str
) -> None:
    query = write_query(tmp_path)
    words = [query if word == "QUERY" else 1 if word == 600 else word for word in COMMANDS[name]]
    patience = ("--timeout", 1) if name == "watch" else ()
    done = sluice(*words, *patience, "--broker", secured_broker.sasl_ssl, env={})
    assert done.returncode == 1, done.stderr
    assert CLOSES in done.stderr.splitlines()[-1]


async def test_a_server_that_closes_every_connection_may_still_be_starting(secured_broker: SecuredBroker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_close_what_comes, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for protocol in ("SASL_SSL", "SASL_PLAINTEXT"):
            env = secured_broker.environment(SECURITY_PROTOCOL=protocol, CAFILE="")
            found = await knock(broker_settings(address, env), timeout_s=60)
            assert found is not None
            assert not found.final
            assert CLOSES in found.text


async def test_a_port_that_is_silent_or_closed_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        silent = await knock(BrokerSettings((address,)), timeout_s=0.2)
    closed = await knock(BrokerSettings((address,)))
    for found, told in ((silent, "it does not answer in time"), (closed, "refused")):
        assert found is not None
        assert not found.final
        assert found.text.startswith(f"{address}: ")
        assert told in found.text


async def test_one_server_that_lets_us_in_is_enough_and_a_refusal_outweighs_an_absence(
    secured_broker: SecuredBroker,
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    right, wrong = (settings(secured_broker, "sasl_ssl", more) for more in ({}, {"PASSWORD": "gue55ed"}))
    assert await knock(replace(right, servers=(nobody, *right.servers)), timeout_s=60) is None
    found = await knock(replace(wrong, servers=(nobody, *wrong.servers)), timeout_s=60)
    assert found is not None
    assert found.final


def _close_what_comes(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            server.accept()[0].close()


def test_rights_that_suffice_are_enough(secured_broker: SecuredBroker, topic_prefix: str, tmp_path: Path) -> None:
    topics = ("--broker", secured_broker.sasl_ssl, "--prefix", topic_prefix)
    assert sluice("topics", "create", *topics, env=secured_broker.environment()).returncode == 0
    for kind in ("frames", "streams"):
        for operation in ("WRITE", "DESCRIBE_CONFIGS"):
            allow(secured_broker, {"kind": "TOPIC", "name": f"{topic_prefix}{kind}.v1", "operation": operation})
    where = ("--source", STREET, "--limit", 3, *topics)
    done = sluice("capture", write_query(tmp_path), *where, env=secured_broker.environment(user="bob"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("granted", "lacks"),
    [
        ({"frames": "READ", "results": "WRITE"}, "read topic results"),
        ({"frames": "READ", "results": "READ"}, "write topic results"),
        ({"frames": "DESCRIBE", "results": "DESCRIBE"}, "read topic frames, read and write topic results"),
    ],
)
async def test_a_worker_asks_for_every_right_before_it_begins(
    secured_broker: SecuredBroker, topic_prefix: str, granted: dict[str, str], lacks: str
) -> None:
    names = {kind: f"{topic_prefix}{kind}" for kind in granted}
    for kind, operation in granted.items():
        create_topic(secured_broker.plaintext, names[kind])
        allow(secured_broker, {"kind": "TOPIC", "name": names[kind], "operation": operation})
    allow(secured_broker, {"kind": "GROUP", "name": topic_prefix, "operation": "READ"})
    bob = settings(secured_broker, "sasl_ssl", {"USERNAME": "bob"})
    wanted = needs(read=names.values(), write=[names["results"]], group=topic_prefix)
    with pytest.raises(BadInput, match=f"let the user 'bob' {lacks.replace('topic ', f'topic {topic_prefix}')}: grant"):
        await wait_for_broker(bob, wanted, 60.0)
    for operation in ("READ", "WRITE"):
        for name in names.values():
            allow(secured_broker, {"kind": "TOPIC", "name": name, "operation": operation})
    await wait_for_broker(bob, wanted, 60.0)


async def test_a_topic_that_is_missing_is_no_missing_right(secured_broker: SecuredBroker, topic_prefix: str) -> None:
    alice = settings(secured_broker, "sasl_ssl", {})
    with pytest.raises(Unavailable, match=f"has no topic {topic_prefix}absent: make them with `sluice topics create`"):
        await wait_for_broker(alice, needs(read=[f"{topic_prefix}absent"], write=[f"{topic_prefix}absent"]), 0.5)


async def test_a_worker_speaks_sasl_and_tls_too(secured_broker: SecuredBroker, topic_prefix: str) -> None:
    address, cafile = secured_broker.sasl_ssl, secured_broker.cafile
    settings = BrokerSettings((address,), "SASL_SSL", "SCRAM-SHA-512", "alice", PASSWORD, cafile)
    wire = Wire(settings, topic_prefix)
    await wire.send(frame_message("camera", seq) for seq in range(10))
    async with working(wire, CountingAnalyser(wire.query)):
        assert len(await results_of(wire, 10)) == 10
