"""When a notification is sent again, and when it is given up. Pure.

A sink that is away is waited for, since nothing would get through. Where a sink is there and fails with one
notification, that one is given up after some attempts: the worst message must not keep back all that come after it.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Literal

from serving.common.backoff import Backoff

BACKOFF = Backoff(first_s=1.0, max_s=60.0)
MOST_PATIENCE_S = 3600.0
"""A sink that asks for more time than that is asked again nevertheless."""
MOST_FAILURES = 8
"""Attempts at a notification with which the sink fails: about a minute and a half."""

Outcome = Literal["delivered", "refused", "failed", "expired", "malformed"]
"""How the delivery of a notification ended. ``refused``: the sink said that it will never take it; ``failed``: it
failed ``MOST_FAILURES`` times; ``expired``: the sink was away for too long; ``malformed``: the message was none."""

AWAY = {429, 503}
"""Not now."""
PASSING = {408, 425}
"""Refusals that another attempt may overcome."""


def meaning(status: int) -> Literal["delivered", "refused", "failed", "away"]:
    """What a web server's status says of a notification; redirects are not followed.

    >>> [meaning(status) for status in (204, 301, 400, 408, 500, 503)]
    ['delivered', 'refused', 'refused', 'failed', 'failed', 'away']
    """
    if 200 <= status < 300:
        return "delivered"
    if status in AWAY:
        return "away"
    return "failed" if status >= 500 or status in PASSING else "refused"


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


def end_of(failures: int, age_s: float, max_age_s: float) -> Outcome | None:
    """Return how the delivery ends after a failed attempt; None: another one follows.

    ``failures``: attempts that failed while the sink was there.
    """
    if failures >= MOST_FAILURES:
        return "failed"
    return "expired" if age_s >= max_age_s else None
