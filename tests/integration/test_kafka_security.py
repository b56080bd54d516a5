"""SASL and TLS settings reach the broker, and a wrong password says so."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.settings import BrokerSettings
from tests.integration.test_worker import results_of, working
from tests.integration.worker_parts import CountingAnalyser, KafkaWire, frame_message
from tests.real.command import sluice
from tests.real.kafka import KafkaBroker, require_jars

pytestmark = pytest.mark.kafka

PASSWORD = "it-is-a-secret"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaBroker, Path]]:
    require_jars()
    folder = tmp_path_factory.mktemp("tls")
    store, cafile = folder / "keys.p12", folder / "ca.pem"
    keytool = ["keytool", "-keystore", str(store), "-storepass", "changeit", "-alias", "broker"]
    subprocess.run(
        [*keytool, "-genkeypair", "-keyalg", "RSA", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    subprocess.run([*keytool, "-exportcert", "-rfc", "-file", str(cafile)], check=True, capture_output=True)
    properties = {
        "listeners": "SASL_SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": "SASL_SSL://127.0.0.1:{port}",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{LOGIN} username="alice" password="{PASSWORD}" user_alice="{PASSWORD}";'
        ),
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": "changeit",
        "ssl.truststore.location": str(store),
        "ssl.truststore.password": "changeit",
    }
    with KafkaBroker(properties=properties) as broker:
        yield broker, cafile


def environment(cafile: Path, password: str = PASSWORD) -> dict[str, str]:
    return {
        "SLUICE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "SLUICE_KAFKA_USERNAME": "alice",
        "SLUICE_KAFKA_PASSWORD": password,
        "SLUICE_KAFKA_CAFILE": str(cafile),
    }


def test_user_password_and_certificate_are_used(secured: tuple[KafkaBroker, Path]) -> None:
    broker, cafile = secured
    done = sluice("topics", "create", "--broker", broker.bootstrap, env=environment(cafile))
    assert done.returncode == 0, done.stderr
    assert "sluice.frames.v1: created" in done.stdout


def test_a_wrong_password_is_told_without_waiting_or_showing_it(secured: tuple[KafkaBroker, Path]) -> None:
    broker, cafile = secured
    env = environment(cafile, password="guessed")
    done = sluice("topics", "describe", "--broker", broker.bootstrap, "--broker-timeout", 600, env=env)
    assert done.returncode == 2
    assert re.search("refuses the user 'alice'.*SLUICE_KAFKA_PASSWORD", done.stderr)
    assert "guessed" not in done.stdout + done.stderr


def test_an_untrusted_certificate_is_not_accepted(secured: tuple[KafkaBroker, Path]) -> None:
    broker, cafile = secured
    env = environment(cafile)
    del env["SLUICE_KAFKA_CAFILE"]
    done = sluice("topics", "describe", "--broker", broker.bootstrap, "--broker-timeout", 3, env=env)
    assert done.returncode == 1
    assert "certificate verify failed" in done.stderr.splitlines()[-1]


async def test_a_worker_speaks_sasl_and_tls_too(secured: tuple[KafkaBroker, Path], topic_prefix: str) -> None:
    broker, cafile = secured
    settings = BrokerSettings((broker.bootstrap,), "SASL_SSL", "PLAIN", "alice", PASSWORD, cafile)
    wire = KafkaWire(settings, topic_prefix)
    await wire.send(frame_message("camera", seq, "jpeg") for seq in range(10))
    async with working(wire, CountingAnalyser(wire.query)):
        assert len(await results_of(wire, 10)) == 10
