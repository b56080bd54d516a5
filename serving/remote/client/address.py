"""Where a backend is, and how it is spoken to. Nothing here knows gRPC."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from serving.common.redaction import hide
from serving.remote.peers import certify, read_pem


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Certificates, as PEM files."""

    ca: Path | None = None
    """None: the system's."""
    cert: Path | None = None
    key: Path | None = None

    def read(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Trusted certificates, key and certificate, as gRPC takes them; raises BadInput for what it would end by."""
        found = _pem(self.ca, "ca"), _pem(self.key, "key"), _pem(self.cert, "cert")
        certify(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self.cert, self.key, self.ca, "tls.ca, tls.cert, tls.key")
        return found


@dataclass(frozen=True, slots=True)
class BackendAddress:
    """One backend of a query. The token shows in no ``repr``."""

    name: str
    urls: tuple[str, ...]
    """``grpc://host:port`` or ``unix:///path``: each of one or more servers, any of which may be asked."""
    tls: TlsFiles | None = None
    """None: in the clear."""
    token: str | None = field(default=None, repr=False)
    timeout_s: float = 10.0
    """The longest that a call may take."""
    in_flight: int = 32
    """The most calls at once."""

    def __post_init__(self) -> None:
        hide(self.token, None if self.token is None else f"Bearer {self.token}")

    def __str__(self) -> str:
        return f"backend {self.name} ({', '.join(self.urls)})"


def _pem(path: Path | None, key: str) -> bytes | None:
    return None if path is None else read_pem(path, f"tls.{key}")
