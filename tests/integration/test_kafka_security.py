"""SASL and TLS settings reach the broker, and what is wrong with them is said at once, by every command."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from pipelines.kafka.probe import knock
from pipelines.settings import BrokerSettings, broker_settings
from tests.integration.kafka_side import write_query
from tests.integration.test_worker import results_of, working
from tests.integration.worker_parts import CountingAnalyser, Wire, frame_message
from tests.real.command import sluice
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
    """The one line with which the command ends."""
    query = write_query(folder)
    words = [query if word == "QUERY" else word for word in COMMANDS[name]]
    done = sluice(*words, "--broker", server, env=env)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
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


@pytest.mark.parametrize(
    ("listener", "changes", "told"),
    [
        ("sasl_ssl", {"USERNAME": "eve"}, "refuses the user 'eve'"),
        ("sasl_ssl", {"SASL_MECHANISM": "PLAIN", "PASSWORD": "gue55ed"}, "refuses the user 'alice' by PLAIN"),
        ("sasl_plaintext", {"SECURITY_PROTOCOL": "SASL_PLAINTEXT", "CAFILE": ""}, "one that it knows (PLAIN)"),
        ("sasl_ssl", {"CAFILE": ""}, "name the certificate of its authority in SLUICE_KAFKA_CAFILE"),
        ("expired", {"SASL_MECHANISM": "PLAIN"}, "certificate has expired"),
        ("by_name", {}, "give the broker's address as its certificate has it"),
        ("plaintext", {}, "does not speak TLS"),
        ("sasl_plaintext", {}, "does not speak TLS"),
        ("sasl_ssl", {"SECURITY_PROTOCOL": "SASL_PLAINTEXT", "CAFILE": ""}, "speaks TLS only"),
        ("plaintext", {"SECURITY_PROTOCOL": "SASL_PLAINTEXT", "CAFILE": ""}, "wants no user here"),
        ("sasl_ssl", {"SECURITY_PROTOCOL": "PLAINTEXT"}, "speaks TLS only"),
        ("sasl_ssl", {"SECURITY_PROTOCOL": "SSL"}, "wants a user"),
        ("sasl_plaintext", {"SECURITY_PROTOCOL": "PLAINTEXT"}, "wants a user"),
    ],
)
def test_what_is_wrong_is_told_apart(
    secured_broker: SecuredBroker, listener: str, changes: dict[str, str], told: str
) -> None:
    env = secured_broker.environment() | {f"SLUICE_KAFKA_{name}": value for name, value in changes.items()}
    if not env["SLUICE_KAFKA_SECURITY_PROTOCOL"].startswith("SASL"):
        env |= {"SLUICE_KAFKA_USERNAME": "", "SLUICE_KAFKA_PASSWORD": ""}
    if env["SLUICE_KAFKA_SECURITY_PROTOCOL"] == "PLAINTEXT":
        env["SLUICE_KAFKA_CAFILE"] = ""
    address = secured_broker.sasl_ssl.replace("127.0.0.1", "localhost") if listener == "by_name" else None
    found = knock(broker_settings(address or getattr(secured_broker, listener), env))
    assert found is not None
    assert found.final
    assert told in found.text


def test_a_server_that_closes_every_connection_may_still_be_starting(secured_broker: SecuredBroker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_close_what_comes, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for protocol in ("SASL_SSL", "SASL_PLAINTEXT"):
            env = secured_broker.environment(SECURITY_PROTOCOL=protocol, CAFILE="")
            found = knock(broker_settings(address, env))
            assert found is not None
            assert not found.final


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


async def test_a_worker_speaks_sasl_and_tls_too(secured_broker: SecuredBroker, topic_prefix: str) -> None:
    address, cafile = secured_broker.sasl_ssl, secured_broker.cafile
    settings = BrokerSettings((address,), "SASL_SSL", "SCRAM-SHA-512", "alice", PASSWORD, cafile)
    wire = Wire(settings, topic_prefix)
    await wire.send(frame_message("camera", seq) for seq in range(10))
    async with working(wire, CountingAnalyser(wire.query)):
        assert len(await results_of(wire, 10)) == 10
