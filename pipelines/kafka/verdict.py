"""Why a server does not let us in, by the error of the client that tried: one line, and whether it is final.

What a server says is final: it would say it again. A closed connection says nothing: the proxy of a container whose
broker still starts closes connections too. Pure.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from pipelines.settings import BrokerSettings

CREDENTIALS = "SLUICE_KAFKA_USERNAME and SLUICE_KAFKA_PASSWORD"
PROTOCOL = "SLUICE_KAFKA_SECURITY_PROTOCOL"
CLOSED = {"UNEXPECTED_EOF_WHILE_READING", "APPLICATION_DATA_AFTER_CLOSE_NOTIFY"}
"""OpenSSL's words for a connection that ends."""


@dataclass(frozen=True)
class Verdict:
    """Why we cannot work with the broker; ``final`` where waiting does not help."""

    text: str
    final: bool


def verdict(settings: BrokerSettings, server: str, error: Exception) -> Verdict:
    """The meaning of an error that entering one server, ``host:port``, has ended with."""
    refusal = _refusal(settings, error)
    if refusal is not None:
        return Verdict(f"the broker at {settings.url} {refusal}", final=True)
    return Verdict(f"{server}: {_absence(settings, error)}", final=False)


def _refusal(settings: BrokerSettings, error: Exception) -> str | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message.rstrip(".")
        return f"is not trusted: {said}: {_certificate_remedy(settings, said)}"
    if isinstance(error, ssl.SSLError) and not _is_closed(error):
        said = (error.reason or str(error)).replace("_", " ").lower()
        hint = "check SLUICE_KAFKA_CERTFILE and SLUICE_KAFKA_KEYFILE" if "certificate" in said else _other(settings)
        return f"and this client do not agree on TLS ({said}): {hint}"
    match type(error).__name__.removesuffix("Error"):  # kafka-python's and aiokafka's names
        case "IllegalSaslState":
            return f"wants no user here: {_other(settings)}"
        case "UnsupportedSaslMechanism":
            mechanism = settings.sasl_mechanism
            return f"does not know the mechanism {mechanism}: set SLUICE_KAFKA_SASL_MECHANISM to one that it knows"
        case "SaslAuthenticationFailed":
            return f"refuses the user {settings.username!r} by {settings.sasl_mechanism}: check {CREDENTIALS}"
    return None


def _absence(settings: BrokerSettings, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, OSError) and not isinstance(error, ConnectionResetError) and not _is_closed(error):
        return error.strerror or str(error)
    return f"it closes the connection: it may still be starting; else {_other(settings)}"


def _is_closed(error: Exception) -> bool:
    return isinstance(error, ssl.SSLEOFError) or (isinstance(error, ssl.SSLError) and error.reason in CLOSED)


def _other(settings: BrokerSettings) -> str:
    return f"name a port that speaks {settings.security_protocol}, or set {PROTOCOL} to what this one speaks"


def _certificate_remedy(settings: BrokerSettings, detail: str) -> str:
    if "expired" in detail or "not yet valid" in detail:
        return "renew the broker's certificate, or set this machine's clock"
    if "mismatch" in detail:
        return "give the broker's address as its certificate has it"
    if settings.cafile is None:
        return "name the certificate of its authority in SLUICE_KAFKA_CAFILE"
    return f"{settings.cafile} (SLUICE_KAFKA_CAFILE) does not hold its authority"
