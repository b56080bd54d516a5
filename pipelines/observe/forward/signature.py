"""Signs what is posted, so that whoever knows the secret can tell that it is ours and new. Pure."""

from __future__ import annotations

import hashlib
import hmac

HEADER = "Sluice-Signature"
LEAST_SECRET = 16
"""Characters of a secret: nobody can try them all."""


def signature(secret: str, at_s: int, body: bytes) -> str:
    """The header's value: the time, seconds since 1970, and HMAC-SHA-256 of time, dot and body.

    >>> signature("It's a secret to everybody", 1700000000, b"{}")[:30]
    't=1700000000,v1=5fb57297c4a0ff'
    """
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"
