"""How long a broker is waited for. Pure: the time is an argument, in seconds of a monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass

NEVER = float("inf")


@dataclass(slots=True)
class Patience:
    """Ends at a moment, or once the broker has been silent for too long; whichever comes first."""

    answered_at: float
    """When the broker answered last."""
    give_up_at: float = NEVER
    silence_allowed_s: float = NEVER

    def answered(self, now: float) -> None:
        """The broker has taken a message."""
        self.answered_at = now

    def end_at(self, moment: float) -> None:
        """Wait no longer than until then."""
        self.give_up_at = min(self.give_up_at, moment)

    def allow_silence(self, seconds: float, now: float) -> None:
        """Give up once the broker has been silent for so long from now on; saying it again changes nothing."""
        if self.silence_allowed_s != seconds:
            self.silence_allowed_s, self.answered_at = seconds, now

    def left_s(self, now: float) -> float:
        """The time that is left, 0 or less where there is none."""
        return min(self.give_up_at, self.answered_at + self.silence_allowed_s) - now
