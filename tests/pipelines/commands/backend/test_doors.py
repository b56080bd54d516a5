"""Where a backend may listen, and whom it lets in."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.commands.backend.doors import DEFAULT_GRPC, TlsPaths, doors
from serving.common.redaction import redact
from serving.errors import BadInput
from tests.serving.remote.server.test_door import certificates

TOKEN = "a token of many letters"
NONE = TlsPaths()


@pytest.fixture
def tls(tmp_path: Path) -> TlsPaths:
    certificates(tmp_path)
    return TlsPaths(*(tmp_path / name for name in ("server.pem", "server.key", "ca.pem")))


@pytest.mark.parametrize("listen", [DEFAULT_GRPC, "localhost:0", "[::1]:8001", "unix:/run/sluice.sock"])
def test_on_this_machine_nothing_is_needed(listen: str) -> None:
    found = doors(listen, "127.0.0.1:8000", NONE, None)
    assert (found.grpc, str(found.http), found.in_the_clear) == (listen, "127.0.0.1:8000", False)


@pytest.mark.parametrize(("listen", "http"), [("0.0.0.0:8001", None), (DEFAULT_GRPC, "[::]:8000"), ("gpu-1:1", None)])
def test_elsewhere_a_token_or_certificates_of_clients_are_needed(listen: str, http: str | None, tls: TlsPaths) -> None:
    server_alone = TlsPaths(tls.certificate, tls.key)
    for unknown in (NONE, server_alone):
        with pytest.raises(BadInput, match="whoever reaches it could use all networks: give a token") as refused:
            doors(listen, http, unknown, None)
        assert ("--http" if http else "--listen") in str(refused.value)
    assert doors(listen, http, NONE, TOKEN).in_the_clear
    assert not doors(listen, http, server_alone, TOKEN).in_the_clear
    assert not doors(listen, http, tls, None).in_the_clear


def test_secrets_show_nowhere(tls: TlsPaths) -> None:
    found = doors("0.0.0.0:1", "0.0.0.0:2", tls, TOKEN)
    assert TOKEN not in repr(found)
    assert "PRIVATE" not in repr(found)
    assert TOKEN not in redact(f"authorization was {TOKEN}")
    assert tls.key is not None
    _, line, *_ = tls.key.read_text().splitlines()
    assert line[:9] not in redact(f"read {line}")


@pytest.mark.parametrize(
    ("listen", "http", "why"),
    [
        ("", None, "--listen '': give HOST:PORT"),
        ("8001", None, "give HOST:PORT"),
        ("unix:here", None, "give unix:/PATH, or HOST:PORT"),
        (DEFAULT_GRPC, "http://a", "--http 'http://a': give HOST:PORT"),
        (DEFAULT_GRPC, "127.0.0.1:70000", "--http"),
    ],
)
def test_what_is_no_address_is_refused(listen: str, http: str | None, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        doors(listen, http, NONE, None)


@pytest.mark.parametrize("token", ["short", "ein Geheimnis für viele"])
def test_a_token_that_can_be_guessed_or_cannot_travel_is_refused(token: str) -> None:
    with pytest.raises(BadInput) as refused:
        doors("unix:/run/sluice.sock", None, NONE, token)
    assert token not in str(refused.value)


def test_files_that_are_not_there_or_no_certificates_are_refused(tls: TlsPaths, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("certificate")
    for paths, why in [
        (TlsPaths(tls.certificate), "--cert and --key belong together"),
        (TlsPaths(client_ca=tls.client_ca), "--client-ca needs a certificate of this backend"),
        (TlsPaths(tmp_path / "none", tls.key), r"--cert: .*none cannot be read \(No such file"),
        (TlsPaths(tmp_path / "text", tls.key), "--cert: .*text is no PEM file"),
        (TlsPaths(tls.certificate, tmp_path / "client.key"), "--key, --client-ca: .* key values mismatch"),
    ]:
        with pytest.raises(BadInput, match=why):
            doors(DEFAULT_GRPC, None, paths, None)
