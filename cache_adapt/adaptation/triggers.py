"""When something learnt is trained anew: asked for, after a while, or once there are twice as many samples. Pure.

Caches are trained anew periodically (Balasubramanian et al., 2021, §5.3). Beside that: there are twice as many samples
as at the last training, of which more can be learnt. Whatever brought nothing is tried again after twice as long, or
with twice as many samples. Exits that do worse than they should are switched off by their audits, stream by stream.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from learning.retry_gap import RetryGap

Reason = Literal["wanted", "more samples", "schedule"]

PERIOD_S = 900
"""Seconds between two trainings where nothing else asks for one (§5.3: 15 minutes work well)."""
PAUSE_S = 60
"""Seconds that pass at least between two trainings of the same."""
FIRST_SAMPLES = 150
"""Samples from which something is learnt first where it needs many; then with each doubling, however soon."""
LEAST_NEW = 50
"""Fewest samples that came since, for another training."""


class History(msgspec.Struct):
    """The trainings of one target; plain data."""

    tried_at_s: float | None = None
    """When it was trained last, whether that brought anything or not."""
    samples: int = 0
    """Samples that had come by then; 0 where it was trained before anything was counted."""
    served: bool = False
    """Whether there is a version in use."""
    gap: RetryGap = msgspec.field(default_factory=lambda: RetryGap(PAUSE_S))

    def may_try(self, now_s: float, samples: int) -> bool:
        """Whether there may be anything to gain from another attempt, with so many samples come so far."""
        if not self.gap.is_over(int(now_s)):
            return False
        if self.tried_at_s is None:
            return True
        fresh = samples - self.samples if samples >= self.samples else samples  # fewer: they are counted anew
        return now_s - self.tried_at_s >= PAUSE_S and fresh >= LEAST_NEW

    def has_doubled(self, samples: int) -> bool:
        """Whether there are twice as many samples as at the last attempt."""
        return self.samples > 0 and samples >= max(2 * self.samples, FIRST_SAMPLES)

    def too_early(self, now_s: float, samples: int) -> None:
        """Note an attempt for which it was too early: no later one has to wait longer for that."""
        self.tried_at_s, self.samples = now_s, samples

    def tried(self, now_s: float, samples: int, gained: bool) -> None:
        """Note an attempt; where it brought nothing the next one comes later than after the one before."""
        self.tried_at_s, self.samples = now_s, samples
        self.served |= gained
        if gained:
            self.gap.succeeded()
        else:
            self.gap.failed(int(now_s))


def why_train(history: History, now_s: float, samples: int) -> Reason | None:
    """Why it should be trained now, with so many samples come so far; None where it should not."""
    if history.has_doubled(samples):
        return "more samples"
    if not history.may_try(now_s, samples):
        return None
    if history.tried_at_s is None or not history.served:
        return "wanted"
    return "schedule" if now_s - history.tried_at_s >= PERIOD_S else None
