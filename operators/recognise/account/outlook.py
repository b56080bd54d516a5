"""Whether heads and caches can pay at a node: what they could save, against what it takes to get them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from learning.purse import SHARE

LEAST_ORACLE_S = 0.003
"""Processor seconds of a look: in a faster oracle cuts and lookups take what caches save."""
HORIZON_H = 1.0
"""Hours within which an investment must come back: what a camera shows changes with the day."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """A node's prospects; all seconds are processor seconds."""

    oracle_s: float
    """One look of the oracle."""
    head_s: float
    """One look of the compact network."""
    share: float
    """Share of the looks that heads could answer at best."""
    looks_per_hour: float | None
    """None as long as nobody knows."""
    investment_s: float
    """Seconds to be spent before a head answers."""
    passed_s: float | None = None
    """The oracle for a look that a head passes on; None: as much as for one of its own."""

    @property
    def gain_s(self) -> float:
        """The saving of a head at each look."""
        passed_s = self.oracle_s if self.passed_s is None else self.passed_s
        return self.oracle_s - self.head_s - (1 - self.share) * passed_s

    def why_not(self) -> str | None:
        """Why heads cannot pay; None where they can, or nobody knows yet."""
        if self.gain_s <= 0:
            return (
                f"a look of the oracle takes {_ms(self.oracle_s)} of processor time, and that of a head, which could "
                f"answer {self.share:.0%} at best, {_ms(self.head_s)}"
            )
        if self.looks_per_hour is None:
            return None
        earned_s = self.gain_s * self.looks_per_hour * HORIZON_H
        if earned_s >= self.investment_s:
            return None
        return (
            f"at {self.looks_per_hour:.0f} looks an hour heads could save {earned_s:.1f} s of processor time in it, "
            f"and getting them takes {self.investment_s:.1f} s"
        )


def waiting(left_s: float, needed_s: float, what: str) -> str:
    """Say that the purse does not allow the next step yet."""
    return (
        f"{what} takes {_seconds(needed_s)} of processor time; {_seconds(max(left_s, 0.0))} may be spent so far "
        f"({SHARE:.1%} of what this process has used, and half of what was saved)"
    )


def too_fast(oracle_s: float) -> str | None:
    """Why caches cannot pay in an oracle whose look takes so long; None where they can, or nobody knows yet."""
    if not 0 < oracle_s < LEAST_ORACLE_S:
        return None
    return (
        f"a look of the oracle takes {_ms(oracle_s)} of processor time, and below {_ms(LEAST_ORACLE_S)} cuts and "
        "lookups take what caches save"
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds:.2f} s"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"
