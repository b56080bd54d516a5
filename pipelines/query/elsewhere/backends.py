"""The query's key ``backends``: servers of networks that nodes may name, as in ``model: vehicle-type on gpu``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from pipelines.query.budgets import BackendBudget
from pipelines.query.secret_places import Placeholder, read_secret
from serving.common.explain import Strict, beside_the_file, listed
from serving.errors import BadInput
from serving.remote.endpoint.terms import ENDPOINT
from serving.variants.variant import ANYWHERE

if TYPE_CHECKING:
    from serving.remote.client.address import BackendAddress

MOST_BACKENDS = 16
MOST_IN_FLIGHT = 1024
MOST_URLS = 64
_FORM = "grpc://HOST:PORT, or unix:///PATH for a socket of this machine"


def _url(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        found = urlsplit(value)
        host, port = found.hostname, found.port
    except ValueError:
        raise ValueError(f"is no address: give {_FORM}") from None
    if found.username is not None or found.password is not None:
        raise ValueError("has a user or password: give a token in its place")
    more = bool(found.query or found.fragment)
    here = found.scheme == "unix" and not found.netloc and len(found.path) > 1
    there = found.scheme == "grpc" and host and port and found.path in ("", "/")
    if more or not (here or there):
        raise ValueError(f"is {value!r}: give {_FORM}")
    return value


File = Annotated[Path, AfterValidator(beside_the_file)]


Url = Annotated[str, BeforeValidator(_url)]


class TlsSpec(Strict):
    """Certificates, as PEM files; relative paths begin at the query file."""

    ca: File | None = None
    """Whom to trust. Default: whom the system trusts."""
    cert: File | None = None
    """This client's certificate, where the backend asks for one."""
    key: File | None = None
    """Its key."""


class BackendSpec(Strict):
    """A server that runs networks, spoken to in the Open Inference Protocol, version 2, over gRPC."""

    url: Annotated[
        tuple[Url, ...],
        BeforeValidator(listed, json_schema_input_type=str | list[str]),
        Field(min_length=1, max_length=MOST_URLS),
    ]
    """``grpc://HOST:PORT`` or ``unix:///PATH``; a name with several addresses, or a list, means several servers."""
    tls: TlsSpec | None = None
    """Encrypt; ``{}``: by the certificates that the system trusts. Default: in the clear."""
    token: Placeholder | None = None
    """The secret that is shown to it: ``${NAME}`` of the environment or ``${file:PATH}``, never the secret itself."""
    timeout_ms: float = Field(default=10_000.0, ge=1, le=600_000)
    """The longest that a call may take; streams with ``overload: drop_late`` give up at their deadline."""
    in_flight: int = Field(default=32, ge=1, le=MOST_IN_FLIGHT)
    """The most calls that are under way at once; further ones wait."""
    budget: BackendBudget | None = None
    """The most that all nodes may spend there in a day. Default: not bounded."""


BackendName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,49}$")]


def _not_taken(given: Mapping[str, BackendSpec]) -> Mapping[str, BackendSpec]:
    for taken in (ANYWHERE, ENDPOINT):
        if taken in given:
            raise ValueError(f"{taken!r} stands for something else after on: give this backend another name")
    return given


Backends = Annotated[Mapping[BackendName, BackendSpec], Field(max_length=MOST_BACKENDS), AfterValidator(_not_taken)]


def addresses(specs: Mapping[str, BackendSpec]) -> dict[str, BackendAddress]:
    """The backends as a client takes them, with their secrets; raises BadInput for one that is not to be had."""
    from serving.remote.client.address import BackendAddress, TlsFiles

    found = {}
    for name, spec in specs.items():
        tls = None if spec.tls is None else TlsFiles(spec.tls.ca, spec.tls.cert, spec.tls.key)
        token = None if spec.token is None else read_secret(spec.token, Path(), f"backends.{name}.token")
        if token is not None and not token.isascii():
            raise BadInput(f"backends.{name}.token: a token must be of ASCII letters, to travel in gRPC")
        found[name] = BackendAddress(name, spec.url, tls, token, spec.timeout_ms / 1000, spec.in_flight)
    return found
