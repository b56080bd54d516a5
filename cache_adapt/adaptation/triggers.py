"""When something learnt is trained anew: asked for, after a while, or when it does worse than was expected. Pure.

Caches are trained anew periodically, and when their hit rate is worse than expected (Balasubramanian et al., 2021, §1
and §5.3). Beside these two: the classes that are seen are others than those it was trained on, audits find that it
agrees too seldom, and there are twice as many samples as at the last training, of which more can be learnt. A figure
counts as worse only where chance would hardly explain it. Whatever brought nothing is tried again after twice as long,
or with twice as many samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from learning.binomial import at_least
from learning.retry_gap import RetryGap

Reason = Literal["wanted", "more samples", "hit rate", "agreement", "class mix", "schedule"]

PERIOD_S = 900
"""Seconds between two trainings where nothing else asks for one (§5.3: 15 minutes work well)."""
PAUSE_S = 60
"""Seconds that pass at least between two trainings of the same."""
FIRST_SAMPLES = 150
"""Samples from which something is learnt first where it needs many; then with each doubling, however soon."""
LEAST_NEW = 50
"""Fewest samples that came since, for another training."""
LEAST_SEEN = 50
"""Fewest objects of which a mix of classes is judged."""
ERROR = 0.001
"""How probably chance alone makes a figure seem worse, each time that one looks."""
HIT_MARGIN = 0.05
"""A hit rate may be so much lower than expected."""
DRIFT = 0.2
"""Share of the objects that belong to other classes than before, from which the mix has drifted."""


class VersionUse(msgspec.Struct, frozen=True):
    """The answers of a version in use, as workers have counted them, and the classes."""

    asked: int = 0
    """Objects that it was asked about."""
    answered: int = 0
    """Those that it answered for."""
    expected: float = 0.0
    """Those that it should have answered for, by its validation and the classes that were seen when it was chosen."""
    audits: int = 0
    agreed: int = 0
    mix: Mapping[int, int] = {}
    """How often each class was seen lately, by any answer."""


class History(msgspec.Struct):
    """The trainings of one target; plain data."""

    tried_at_s: float | None = None
    """When it was trained last, whether that brought anything or not."""
    mix: Mapping[int, int] = {}
    """How often each class was seen then."""
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

    def tried(self, now_s: float, samples: int, mix: Mapping[int, int], gained: bool) -> None:
        """Note an attempt; where it brought nothing the next one comes later than after the one before."""
        self.tried_at_s, self.samples, self.mix = now_s, samples, dict(mix)
        self.served |= gained
        if gained:
            self.gap.succeeded()
        else:
            self.gap.failed(int(now_s))


def why_train(history: History, now_s: float, samples: int, seen: VersionUse, agreement: float) -> Reason | None:
    """Why it should be trained now; None where it should not.

    ``samples``: those that have come so far; ``agreement``: the share of its answers that the oracle must agree with.
    """
    if history.has_doubled(samples):
        return "more samples"
    if not history.may_try(now_s, samples):
        return None
    if history.tried_at_s is None or not history.served:
        return "wanted"
    if seen.asked and falls_short(seen.answered, seen.asked, seen.expected / seen.asked - HIT_MARGIN):
        return "hit rate"
    if falls_short(seen.agreed, seen.audits, agreement):
        return "agreement"
    if has_drifted(history.mix, seen.mix):
        return "class mix"
    return "schedule" if now_s - history.tried_at_s >= PERIOD_S else None


def falls_short(hits: int, of: int, expected: float) -> bool:
    """Whether the share of hits is below ``expected`` beyond what chance explains.

    As if an upper bound of the share (Clopper–Pearson, one-sided, ``ERROR``) were compared with it.
    """
    return hits < expected * of and at_least(hits + 1, of, min(expected, 1.0)) > 1 - ERROR


def has_drifted(before: Mapping[int, int], now: Mapping[int, int]) -> bool:
    """Whether more than ``DRIFT`` of the objects are of other classes, beyond what so few show by chance.

    The total variation distance of two draws from one distribution over k classes is about √(k/n₁ + k/n₂) / 2 at most.
    """
    n, m = sum(before.values()), sum(now.values())
    if min(n, m) < LEAST_SEEN:
        return False
    classes = before.keys() | now.keys()
    distance = sum(abs(before.get(each, 0) / n - now.get(each, 0) / m) for each in classes) / 2
    noise: float = (len(classes) / n + len(classes) / m) ** 0.5 / 2
    return distance > DRIFT + noise
