"""One real broker that is secured in every way at once, shared by the session: the fixture ``secured_broker``.

It listens on several ports, each with the same topics behind it, and checks rights.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient

from tests.real.broker import KafkaBroker
from tests.real.kafka import require_jars
from tests.real.ports import free_port

PASSWORD = "s3cr3t w/ $ymb0ls+=,;"
"""The password of ``alice``, who may do all, and of ``bob``, who may do nothing. It looks different percent-encoded."""
STORE_PASSWORD = "changeit"
LOGIN = "org.apache.kafka.common.security.{}LoginModule required"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256")
NOT_ENABLED = "SCRAM-SHA-512"
PLAIN_ONLY_ON = "sasl_plain"


@dataclass(frozen=True)
class SecuredBroker:
    """Addresses of one broker's listeners, and what a client needs for them."""

    sasl_ssl: str
    """User, password and TLS: PLAIN and both SCRAM mechanisms."""
    expired: str
    """The same with a certificate that has expired; PLAIN only."""
    sasl_plaintext: str
    """User and password without TLS; PLAIN only."""
    plaintext: str
    """Neither; whoever comes may do all."""
    cafile: Path
    other_cafile: Path
    """A certificate that signed nothing."""

    def environment(self, password: str = PASSWORD, user: str = "alice", **changes: str) -> dict[str, str]:
        """What a command needs for ``sasl_ssl``; ``changes`` by the end of the variable's name."""
        settings = {
            "SECURITY_PROTOCOL": "SASL_SSL",
            "SASL_MECHANISM": "SCRAM-SHA-256",
            "USERNAME": user,
            "PASSWORD": password,
            "CAFILE": str(self.cafile),
        }
        return {f"SLUICE_KAFKA_{name}": value for name, value in (settings | changes).items()}


@pytest.fixture(scope="session")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """Started once; every test needs topics and users' rights of its own."""
    require_jars()
    folder = tmp_path_factory.mktemp("tls")
    _make_certificates(folder)
    ports = {name: free_port() for name in ("expired", "sasl_plaintext", "plaintext")}
    with KafkaBroker(properties=_properties(folder, ports)) as broker:
        plaintext = f"127.0.0.1:{ports['plaintext']}"
        _add_scram_users(plaintext)
        yield SecuredBroker(
            sasl_ssl=broker.bootstrap,
            expired=f"127.0.0.1:{ports['expired']}",
            sasl_plaintext=f"127.0.0.1:{ports['sasl_plaintext']}",
            plaintext=plaintext,
            cafile=folder / "ca.pem",
            other_cafile=folder / "other.pem",
        )


def allow(broker: SecuredBroker, *rights: dict[str, Any]) -> None:
    """Give rights to ``bob``: each the arguments of ``kafka.admin.ACL`` that matter."""
    from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

    admin = KafkaAdminClient(bootstrap_servers=broker.plaintext)
    try:
        admin.create_acls(
            [
                ACL(
                    principal="User:bob",
                    host="*",
                    operation=ACLOperation[right["operation"]],
                    permission_type=ACLPermissionType.ALLOW,
                    resource_pattern=ResourcePattern(ResourceType[right["kind"]], right["name"]),
                )
                for right in rights
            ]
        )
    finally:
        admin.close()


def _properties(folder: Path, ports: dict[str, int]) -> dict[str, str]:
    listeners = {
        "SASL_SSL": "{port}",
        "EXPIRED": ports["expired"],
        "SASL_PLAINTEXT": ports["sasl_plaintext"],
        "PLAINTEXT": ports["plaintext"],
    }
    addresses = ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())
    password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    plain = f'{LOGIN.format("plain.Plain")} user_alice="{password}" user_bob="{password}";'
    scram = f"{LOGIN.format('scram.Scram')};"
    jaas = {f"listener.name.{name}.plain.sasl.jaas.config": plain for name in ("sasl_ssl", "expired", "sasl_plaintext")}
    jaas |= {f"listener.name.sasl_ssl.{name}.sasl.jaas.config": scram for name in ("scram-sha-256", "scram-sha-512")}
    return {
        "listeners": addresses + ",CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": addresses,
        "listener.security.protocol.map": (
            "SASL_SSL:SASL_SSL,EXPIRED:SASL_SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        **jaas,
        "ssl.keystore.location": str(folder / "good.p12"),
        "ssl.keystore.password": STORE_PASSWORD,
        "listener.name.expired.ssl.keystore.location": str(folder / "expired.p12"),
        "listener.name.expired.ssl.keystore.password": STORE_PASSWORD,
        "ssl.allow.same.principal.reconfiguration": "true",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
    }


def _add_scram_users(bootstrap: str) -> None:
    from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion(user, mechanism, PASSWORD) for user in ("alice", "bob")]
            )
    finally:
        admin.close()


def _make_certificates(folder: Path) -> None:
    """An authority of our own; a certificate that it signed, one that has expired, and another authority."""
    key = ("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1")
    signs = ("-ext", "bc:c", "-ext", "ku:c=keyCertSign")
    host = ("-signer", "ca", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1")
    _keytool(folder, "all", *key, "-alias", "ca", "-dname", "CN=authority", *signs, "-validity", "30")
    _keytool(folder, "all", *key, "-alias", "good", *host, "-validity", "30")
    _keytool(folder, "all", *key, "-alias", "expired", *host, "-startdate", "-5d", "-validity", "2")
    _keytool(folder, "all", *key, "-alias", "other", "-dname", "CN=another", *signs, "-validity", "30")
    for alias, file in (("ca", "ca.pem"), ("other", "other.pem")):
        _keytool(folder, "all", "-exportcert", "-rfc", "-alias", alias, "-file", str(folder / file))
    for alias in ("good", "expired"):
        source = ("-srckeystore", str(folder / "all.p12"), "-srcstorepass", STORE_PASSWORD, "-srcalias", alias)
        target = ("-destkeystore", str(folder / f"{alias}.p12"), "-deststorepass", STORE_PASSWORD)
        subprocess.run(["keytool", "-importkeystore", *source, *target], check=True, capture_output=True)


def _keytool(folder: Path, store: str, *arguments: str) -> None:
    keystore = ("-keystore", str(folder / f"{store}.p12"), "-storepass", STORE_PASSWORD, "-storetype", "PKCS12")
    subprocess.run(["keytool", *arguments, *keystore], check=True, capture_output=True)
