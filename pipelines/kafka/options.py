"""The options that connect a client to the broker: kafka-python and aiokafka take the same ones."""

from __future__ import annotations

import ssl
from typing import Any

from pipelines.settings import BrokerSettings
from serving.errors import BadInput

METADATA_AGE_MS = 5000
"""A topic that is made, or made anew, and a partition that is added are found, and read, within so long; the libraries'
default is five minutes."""


def client_options(settings: BrokerSettings) -> dict[str, Any]:
    """Keyword arguments that connect any client of either library; raises ``BadInput`` as ``tls_context``."""
    options: dict[str, Any] = {
        "bootstrap_servers": list(settings.servers),
        "security_protocol": settings.security_protocol,
    }
    if settings.uses_tls:
        options["ssl_context"] = tls_context(settings)
    if settings.sasl_mechanism is not None:
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.username
        options["sasl_plain_password"] = settings.password
    return options


def tls_context(settings: BrokerSettings) -> ssl.SSLContext:
    """Certificates to trust and the client's own; raises ``BadInput`` where a file holds something else."""
    try:
        context = ssl.create_default_context(cafile=settings.cafile)
        if settings.certfile is not None:
            context.load_cert_chain(settings.certfile, settings.keyfile, password="")  # nobody is asked for one
    except OSError as error:  # ssl.SSLError is one
        files = ", ".join(str(path) for path in (settings.cafile, settings.certfile, settings.keyfile) if path)
        raise BadInput(f"TLS for {settings.url}: cannot use {files}: {error}") from None
    return context
