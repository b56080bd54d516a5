"""Where a backend listens, and whom it lets in: read from options, refused where that would be unsafe."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.observe.web.listen import Listen, checked_secret, parse_listen
from serving.common.redaction import SURE, hide
from serving.errors import BadInput
from serving.remote.peers import ServerTls, certify, read_pem

DEFAULT_GRPC = "127.0.0.1:8001"
DEFAULT_HTTP = "127.0.0.1:8000"
SOCKET = "unix:"


@dataclass(frozen=True)
class TlsPaths:
    """Certificates, as PEM files; all or none of the first two."""

    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None


@dataclass(frozen=True)
class Certificates(ServerTls):
    """The content of these files."""

    paths: TlsPaths = field(default_factory=TlsPaths)

    def context(self) -> ssl.SSLContext:
        """For HTTP; raises BadInput where they cannot be used."""
        context, paths = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), self.paths
        certify(context, paths.certificate, paths.key, paths.client_ca, "--cert, --key, --client-ca")
        if paths.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass(frozen=True)
class Doors:
    """How a backend is reached. The token shows in no ``repr``."""

    grpc: str
    """``host:port`` or ``unix:/path``."""
    http: Listen | None
    """None: not over HTTP."""
    certificates: Certificates | None
    """None: in the clear."""
    token: str | None = field(repr=False)

    @property
    def in_the_clear(self) -> bool:
        """Whether a token, and pictures, can be read on their way from another machine."""
        places = [each for each in (self.http, _place(self.grpc)) if each is not None]
        return self.certificates is None and not all(each.is_loopback for each in places)


def doors(listen: str, http: str | None, tls: TlsPaths, secret: str | None) -> Doors:
    """Check what was asked for; raises BadInput where others could come in whom nobody knows."""
    certificates = _read(tls)
    if checked_secret(secret) is not None and not (secret or "").isascii():
        raise BadInput("the token of --secret-file or SLUICE_SERVE_SECRET must be of ASCII letters, to travel in gRPC")
    known = secret is not None or (certificates is not None and certificates.client_ca is not None)
    grpc = listen.strip()
    if not grpc.startswith(SOCKET):
        grpc = str(_checked("--listen", grpc, secret, known))
    elif not grpc.removeprefix(SOCKET).startswith("/"):
        raise BadInput(f"--listen {listen!r}: give {SOCKET}/PATH, or HOST:PORT such as {DEFAULT_GRPC}")
    at = None if http is None else _checked("--http", http, secret, known)
    hide(None if secret is None else f"Bearer {secret}")
    return Doors(grpc, at, certificates, secret)


def _checked(option: str, text: str, secret: str | None, known: bool) -> Listen:
    listen = parse_listen(text, secret, option)
    if not known and not listen.is_loopback:
        raise BadInput(
            f"{option} {text}: whoever reaches it could use all networks: give a token with --secret-file or "
            f"SLUICE_SERVE_SECRET, or certificates with --cert, --key and --client-ca, or listen on 127.0.0.1"
        )
    return listen


def _place(grpc: str) -> Listen | None:
    return None if grpc.startswith(SOCKET) else parse_listen(grpc, None)


def _read(tls: TlsPaths) -> Certificates | None:
    if (tls.certificate is None) != (tls.key is None):
        raise BadInput("--cert and --key belong together: give both")
    if tls.certificate is None or tls.key is None:
        if tls.client_ca is not None:
            raise BadInput("--client-ca needs a certificate of this backend: give --cert and --key too")
        return None
    client_ca = None if tls.client_ca is None else read_pem(tls.client_ca, "--client-ca")
    key = read_pem(tls.key, "--key")
    hide(*(line for line in key.decode("ascii", "replace").split() if len(line) >= SURE and "---" not in line))
    found = Certificates(read_pem(tls.certificate, "--cert"), key, client_ca, tls)
    found.context()  # gRPC would say of what is wrong with them only that it cannot listen
    return found
