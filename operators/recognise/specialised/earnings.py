"""The earnings of heads on one stream, and whether to try again. Pure."""

from __future__ import annotations

import msgspec

from learning.retry_gap import RetryGap

FIRST_GAP = 120
"""Objects between a head that brought nothing and the next attempt; then twice as many each time."""
PATIENCE = 30.0
"""A head is left when it has cost more than it saved by so many looks of the oracle."""
NEWEST = 0.02
"""Share of the newest object in the share of objects that have a name."""


class Earnings(msgspec.Struct):
    """Plain data that survives a restart."""

    objects: int = 0
    """Objects that were seen so far."""
    named: float = 1.0
    """Share of them that have a name at all, rather than "other"."""
    gap: RetryGap = msgspec.field(default_factory=lambda: RetryGap(FIRST_GAP))
    price_s: float = 0.0
    """The price of the newest head's training, processor seconds."""
    earned_s: float = 0.0
    """The savings of heads since."""
    lost_s: float = 0.0
    """How far the present head is behind."""

    @property
    def may_try(self) -> bool:
        """Whether another head may be trained."""
        return self.gap.is_over(self.objects)

    def saw(self, named: bool) -> None:
        self.objects += 1
        self.named += NEWEST * (named - self.named)

    def failed(self) -> None:
        """A head could not be trained, or does not serve."""
        self.gap.failed(self.objects)

    def arrived(self, price_s: float) -> None:
        """A head was trained and is used."""
        self.price_s, self.earned_s, self.lost_s = price_s, 0.0, 0.0

    def looked(self, avoided_s: float, own_s: float, oracle_s: float) -> bool:
        """A head has looked at objects; whether it has cost more than it saved for too long."""
        self.earned_s += avoided_s - own_s
        self.lost_s = max(0.0, self.lost_s + own_s - avoided_s)
        return self.lost_s > PATIENCE * oracle_s > 0

    def left(self) -> None:
        """The head is no longer in use: what it brought decides when the next one may be trained."""
        if self.earned_s > self.price_s:
            self.gap.succeeded()
        else:
            self.gap.failed(self.objects)
        self.lost_s = 0.0
