"""Whom a call goes to or comes from: whether that is this machine, and the certificates by which both are known."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from serving.errors import BadInput

LARGEST_PEM = 1 << 20


@dataclass(frozen=True)
class ServerTls:
    """A server's certificates as PEM; the key shows in no ``repr``."""

    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None = None
    """Clients must have a certificate of these; None: they need none."""


def is_here(address: str) -> bool:
    """Whether an address, as gRPC writes it, is of this machine, whose memory can be shared.

    >>> is_here("ipv4:127.0.0.1:5000"), is_here("ipv6:%5B::1%5D:5000"), is_here("unix:"), is_here("ipv4:10.0.0.7:1")
    (True, True, True, False)
    """
    kind, _, place = unquote(address).partition(":")
    if kind == "unix":
        return True
    return is_loopback(place.rpartition(":")[0].strip("[]"))


def is_loopback(host: str) -> bool:
    """Whether this is the machine itself, by its name or address.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "10.0.0.1", "localhost.example.com")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_pem(path: Path, what: str) -> bytes:
    """Certificates or a key; BadInput, which begins with ``what``, where the file has none or cannot be read."""
    try:
        with path.open("rb") as file:
            found = file.read(LARGEST_PEM + 1)
    except OSError as error:
        raise BadInput(f"{what}: {path} cannot be read ({error.strerror})") from None
    if len(found) > LARGEST_PEM or b"-----BEGIN " not in found:
        raise BadInput(f"{what}: {path} is no PEM file of at most {LARGEST_PEM >> 20} MiB")
    return found


def certify(
    context: ssl.SSLContext, certificate: Path | None, key: Path | None, trusted: Path | None, what: str
) -> None:
    """Give a context its certificates; BadInput, which begins with ``what``, where they are of no use together."""
    if (certificate is None) != (key is None):
        raise BadInput(f"{what}: a certificate and its key belong together: give both")
    try:
        if certificate is not None:
            context.load_cert_chain(certificate, key, password="")  # nobody is asked for one
        if trusted is not None:
            context.load_verify_locations(trusted)
    except (ssl.SSLError, OSError) as error:
        why = (getattr(error, "reason", None) or "one is damaged, or encrypted").replace("_", " ").lower()
        raise BadInput(f"{what}: they cannot be used together: {why}") from None
