"""Who may ask for what: the secret, the names a browser may have used, and the headers of every answer. Pure.

Another site's page must not read ours through a reader's browser. On the loopback interface, where no secret is
asked for, a foreign name that was made to point here (DNS rebinding) shows in ``Host``; a script of another origin
shows in ``Origin``.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.observe.web.listen import PLACE, Listen

OPEN = frozenset({"/healthz", "/readyz"})
"""Asked by container engines, which have no secret: these say no more than whether all is well."""
ANSWER_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Server": "sluice",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ASK = {"WWW-Authenticate": 'Basic realm="sluice", charset="UTF-8"'}
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    why: str
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal(listen: Listen, path: str, headers: Mapping[str, str]) -> Refusal | None:
    """Return why this request is refused; None if it may pass. Names of ``headers`` are found in any case."""
    host = headers.get("Host", "").lower()
    open_here = listen.is_loopback and listen.secret is None
    if open_here and _name(host) not in LOCAL_NAMES | {listen.host.lower()}:
        return Refusal(403, "this name is not known here: ask for localhost or 127.0.0.1")
    origin = headers.get("Origin")
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        return Refusal(403, "pages of other origins may not read this one")
    if listen.secret is None or path in OPEN or _knows(listen.secret, headers.get("Authorization", "")):
        return None
    return Refusal(401, "give the secret: as the password of any user, or as a bearer token", ASK)


def _name(host: str) -> str:
    """The host of a ``Host`` header, without its port; empty where the header is anything else."""
    match = re.fullmatch(PLACE, host)
    return match["host"].strip("[]") if match else ""


def _knows(secret: str, authorization: str) -> bool:
    """Whether a request has the secret, compared in a time that tells nothing of it."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "basic":
        given = _password(given)
    elif scheme.lower() != "bearer":
        given = ""
    # A secret of the environment, and a header, may hold bytes that are no UTF-8.
    asked, known = (each.encode("utf-8", "surrogateescape") for each in (given.strip(), secret))
    return hmac.compare_digest(asked, known)


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
