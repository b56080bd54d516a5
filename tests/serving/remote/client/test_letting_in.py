"""Tokens and certificates: who is let in, who is trusted, and that none of it is told."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

import grpc
import numpy as np
import pytest

from serving.catalogue.lookup import Catalogue
from serving.common.redaction import redact
from serving.errors import BackendDown, BadInput
from serving.remote.client.address import BackendAddress, TlsFiles
from tests.serving.remote.client.conftest import Connected
from tests.serving.remote.client.test_backend_client import MEANS, PICTURES, SOON, ours
from tests.serving.remote.v2_server import V2Server

TOKEN = "s3cr3t-of-the-gpu"


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``ca.pem`` has signed ``server.pem`` and ``client.pem``; ``other.pem`` has signed nothing."""
    folder = tmp_path_factory.mktemp("certificates")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ("ca", "other"):
        openssl(folder, "req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")
    for name in ("server", "client"):
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1"]
        told = ["-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"]
        openssl(folder, "req", "-x509", *key, *signed, *told)
    return folder


def credentials(folder: Path, mutual: bool) -> grpc.ServerCredentials:
    pair = ((folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes())
    return grpc.ssl_server_credentials([pair], (folder / "ca.pem").read_bytes(), mutual)


async def answers(server: V2Server, connected: Connected, **changes: object) -> None:
    async with connected(server, **changes) as client:
        await client.load("means")
        (answer,) = await client.infer("means", PICTURES, SOON)
        assert np.array_equal(answer, MEANS)


async def test_a_token_is_shown_and_never_told(
    catalogue: Catalogue, connected: Connected, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = ours(catalogue, token=TOKEN)
    await server.start()
    await answers(server, connected, token=TOKEN)
    async with connected(server, token="wrong-secret-token") as client:
        assert not client.may_answer
        with pytest.raises(BackendDown, match="UNAUTHENTICATED: no such token") as error:
            await client.load("means")
        assert "wrong-secret" not in str(error.value) + repr(client.address)
    await server.stop()
    address = BackendAddress("gpu", ("grpc://gpu-1:8001",), token=TOKEN)
    assert TOKEN not in repr(address) + str(address) + caplog.text
    assert redact(f"sent authorization Bearer {TOKEN}").count(TOKEN) == 0


async def test_tls(catalogue: Catalogue, connected: Connected, certificates: Path) -> None:
    server = ours(catalogue)
    await server.start(credentials(certificates, mutual=False))
    await answers(server, connected, tls=TlsFiles(ca=certificates / "ca.pem"))
    for tls in (None, TlsFiles(ca=certificates / "other.pem")):
        async with connected(server, tls=tls) as client:
            assert not client.may_answer
    await server.stop()


async def test_certificates_of_both_sides(catalogue: Catalogue, connected: Connected, certificates: Path) -> None:
    server = ours(catalogue)
    await server.start(credentials(certificates, mutual=True))
    mine = TlsFiles(certificates / "ca.pem", certificates / "client.pem", certificates / "client.key")
    await answers(server, connected, tls=mine)
    async with connected(server, tls=TlsFiles(ca=certificates / "ca.pem")) as client:
        assert not client.may_answer
    await server.stop()


async def test_files_that_are_no_certificates_are_said(
    catalogue: Catalogue, connected: Connected, tmp_path: Path
) -> None:
    server = ours(catalogue)
    (tmp_path / "wrong.pem").write_text("no certificate")
    for name, says in [("wrong.pem", "is no PEM file"), ("none.pem", "cannot be read")]:
        with pytest.raises(BadInput, match=rf"tls.ca: .*{name} {says}"):
            async with connected(server, tls=TlsFiles(ca=tmp_path / name)):
                pass


@pytest.mark.parametrize(
    ("cert", "key", "says"),
    [
        ("client.pem", None, "a certificate and its key belong together"),
        (None, "client.key", "a certificate and its key belong together"),
        ("client.pem", "server.key", "they cannot be used together: key values mismatch"),
        ("client.pem", "hidden.key", "they cannot be used together: one is damaged, or encrypted"),
    ],
)
async def test_a_certificate_and_a_key_that_gRPC_would_end_the_process_by_are_one_line(
    catalogue: Catalogue, connected: Connected, certificates: Path, cert: str | None, key: str | None, says: str
) -> None:
    openssl(certificates, "ec", "-in", "client.key", "-aes256", "-passout", "pass:long", "-out", "hidden.key")
    files = [None if name is None else certificates / name for name in ("ca.pem", cert, key)]
    with pytest.raises(BadInput, match=f"tls.ca, tls.cert, tls.key: {says}"):
        async with connected(ours(catalogue), tls=TlsFiles(*files)):
            pass
