"""Decides what is final and what is worth waiting for: a refusal will come again, an absent server may come back.

Only what a server shows of itself counts as a refusal. A closed connection alone does not: the proxy of a container
whose broker still starts closes connections too.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from pipelines.settings import BrokerSettings

Fact = Literal[
    "ready",
    "absent",  # nothing listens, or it says nothing that can be understood
    "no_tls",  # we speak TLS, the listener does not
    "wants_tls",
    "certificate",  # the server's certificate is not accepted here
    "tls",  # the two do not agree on anything else of TLS
    "no_user",  # we give a user, the listener wants none
    "wants_user",
    "mechanism",
    "credentials",
]

CREDENTIALS = "SLUICE_KAFKA_USERNAME and SLUICE_KAFKA_PASSWORD"


@dataclass(frozen=True)
class Seen:
    """What a server showed of itself when we tried to enter."""

    fact: Fact
    detail: str = ""


@dataclass(frozen=True)
class Verdict:
    """Why we cannot work with the broker; ``final`` where waiting does not help."""

    text: str
    final: bool


def verdict(settings: BrokerSettings, seen: Collection[Seen]) -> Verdict | None:
    """What the answers mean together: None where one server lets us in; a refusal outweighs the absence of others."""
    if any(each.fact == "ready" for each in seen):
        return None
    for each in seen:
        if each.fact != "absent":
            return Verdict(_refusal(settings, each), final=True)
    return Verdict(next((each.detail for each in seen), "no server given"), final=False)


def tls_trouble(error: Exception) -> Seen | None:
    """What a failed TLS handshake says for sure; None where it may just as well be a server that is not up yet."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Seen("certificate", error.verify_message)
    if isinstance(error, ssl.SSLEOFError) or not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or str(error)
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"):
        return Seen("no_tls")
    if reason in ("UNEXPECTED_EOF_WHILE_READING", "APPLICATION_DATA_AFTER_CLOSE_NOTIFY"):
        return None
    return Seen("tls", reason.replace("_", " ").lower())


def _refusal(settings: BrokerSettings, seen: Seen) -> str:
    where, sasl = f"the broker at {settings.url}", settings.sasl_mechanism is not None
    if seen.fact == "certificate":
        return f"{where} is not trusted: {seen.detail.rstrip('.')}: {_certificate_remedy(settings, seen.detail)}"
    if seen.fact == "tls":
        hint = "check SLUICE_KAFKA_CERTFILE and SLUICE_KAFKA_KEYFILE" if "certificate" in seen.detail else "check both"
        return f"{where} and this client do not agree on TLS ({seen.detail}): {hint}"
    if seen.fact == "no_tls":
        return f"{where} does not speak TLS: name its TLS port, or {_protocol(sasl, tls=False)}"
    if seen.fact == "wants_tls":
        return f"{where} speaks TLS only: {_protocol(sasl, tls=True)}, or name its port without TLS"
    if seen.fact == "wants_user":
        return f"{where} wants a user: {_protocol(True, tls=settings.uses_tls)}, {CREDENTIALS}"
    if seen.fact == "no_user":
        return f"{where} wants no user here: {_protocol(False, tls=settings.uses_tls)}, or name its SASL port"
    if seen.fact == "mechanism":
        return (
            f"{where} does not know the mechanism {settings.sasl_mechanism}: "
            f"set SLUICE_KAFKA_SASL_MECHANISM to one that it knows ({seen.detail})"
        )
    return f"{where} refuses the user {settings.username!r} by {settings.sasl_mechanism}: check {CREDENTIALS}"


def _certificate_remedy(settings: BrokerSettings, detail: str) -> str:
    if "expired" in detail or "not yet valid" in detail:
        return "renew the broker's certificate, or set this machine's clock"
    if "mismatch" in detail:
        return "give the broker's address as its certificate has it"
    if settings.cafile is None:
        return "name the certificate of its authority in SLUICE_KAFKA_CAFILE"
    return f"{settings.cafile} (SLUICE_KAFKA_CAFILE) does not hold its authority"


def _protocol(sasl: bool, *, tls: bool) -> str:
    name = {
        (False, False): "PLAINTEXT",
        (False, True): "SSL",
        (True, False): "SASL_PLAINTEXT",
        (True, True): "SASL_SSL",
    }
    return f"set SLUICE_KAFKA_SECURITY_PROTOCOL to {name[sasl, tls]}"
