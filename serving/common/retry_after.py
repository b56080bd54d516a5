"""For how long a web server asks to be left alone."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

MOST_PATIENCE_S = 3600.0
"""A server that asks for more time than that is asked again nevertheless."""


def asked_for_s(retry_after: str | None, now_s: float) -> float:
    """For how long a web server asks to be left alone, by its header ``Retry-After``: seconds, or a date.

    ``now_s``: since the epoch. What is neither asks for nothing (RFC 9110, 10.2.3).

    >>> [asked_for_s(said, now_s=0.0) for said in ("120", "Thu, 01 Jan 1970 00:01:00 GMT", "-1", "soon", None)]
    [120.0, 60.0, 0.0, 0.0, 0.0]
    """
    said = (retry_after or "").strip()
    if said.isascii() and said.isdigit():
        return min(float(said[:9]), MOST_PATIENCE_S)
    try:
        at_s = parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(0.0, at_s - now_s), MOST_PATIENCE_S)
