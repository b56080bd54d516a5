"""Counts errors of single messages by kind, and logs the 1st, 10th, 100th … of each."""

from __future__ import annotations

import logging
from collections import Counter

from serving.common.untrusted import printable

LONGEST_DETAIL = 500
"""Characters of a log line."""


class Mishaps:
    """Counts by kind; the kinds are our own words, so that there are few."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self.counts: Counter[str] = Counter()

    def note(self, kind: str, detail: str) -> None:
        """Count one error of the kind; ``detail`` says where it happened and why, and may quote the message."""
        self.counts[kind] += 1
        count = self.counts[kind]
        if str(count).strip("0") == "1":  # a power of ten
            nth = "" if count == 1 else f" ({count} so far)"
            self._log.warning("%s%s: %s", kind, nth, printable(detail, LONGEST_DETAIL))
