"""SASL and TLS settings reach the broker, and a wrong password says so."""

from __future__ import annotations

import gc
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines import topic_admin
from pipelines.broker import admin
from pipelines.settings import broker_settings
from pipelines.topics import TopicsConfig
from serving.errors import BadInput, Unavailable
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


@pytest.fixture(autouse=True)
def collect_sockets() -> Iterator[None]:
    """kafka-python leaves the sockets of failed handshakes to the garbage collector, whose warning is not ours."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def environment(cafile: Path, password: str = PASSWORD) -> dict[str, str]:
    return {
        "SLUICE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "SLUICE_KAFKA_USERNAME": "alice",
        "SLUICE_KAFKA_PASSWORD": password,
        "SLUICE_KAFKA_CAFILE": str(cafile),
    }


def test_user_password_and_certificate_are_used(secured: tuple[KafkaBroker, Path]) -> None:
    broker, cafile = secured
    client = admin(broker_settings(broker.bootstrap, environment(cafile)), 20.0)
    try:
        done = topic_admin.ensure(client, TopicsConfig().by_name())
    finally:
        client.close()
    assert all(topic.created for topic in done)


def test_a_wrong_password_is_told_at_once_without_showing_it(secured: tuple[KafkaBroker, Path]) -> None:
    broker, cafile = secured
    settings = broker_settings(broker.bootstrap, environment(cafile, password="guessed"))
    with pytest.raises(BadInput, match=r"refuses.*alice.*SLUICE_KAFKA_PASSWORD") as caught:
        admin(settings, 60.0)
    assert "guessed" not in str(caught.value)


def test_an_untrusted_certificate_is_not_accepted(secured: tuple[KafkaBroker, Path]) -> None:
    broker, cafile = secured
    env = environment(cafile)
    del env["SLUICE_KAFKA_CAFILE"]
    with pytest.raises(Unavailable, match="certificate"):
        admin(broker_settings(broker.bootstrap, env), 3.0)
