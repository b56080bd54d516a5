"""Whether looking for a stand-in, or going on with one, is worth its cost. Pure.

What a network will take is not known; that it goes on for as long as it has gone on is the plainest guess. So nothing
is begun that the past would not have paid back, and a short run never begins anything.
"""

from __future__ import annotations

GAIN = 0.35
"""The share of a network's processor time that a stand-in is expected to spare before any was measured."""
DEARER = 0.95
"""A stand-in that takes more than this share of what its network took is no gain."""
DOUBTS = 6
"""It is given up after so many looks in a row at which it was none."""


def pays(taken_s: float, gain: float, cost_s: float) -> bool:
    """Whether a network that has taken so many processor seconds would have paid back the cost.

    >>> pays(taken_s=10, gain=0.5, cost_s=6), pays(taken_s=12, gain=0.5, cost_s=6)
    (False, True)
    """
    return gain * taken_s >= cost_s


class Doubt:
    """Counts the looks in a row at which a stand-in was no cheaper than its network.

    >>> doubt = Doubt()
    >>> [doubt.given_up(0.010, 0.009) for _ in range(6)], Doubt().given_up(0.005, 0.009)
    ([False, False, False, False, False, True], False)
    """

    def __init__(self) -> None:
        self._looks = 0

    def given_up(self, own_s: float | None, network_s: float | None) -> bool:
        """Take the processor seconds of one item by both, as far as they are known."""
        if own_s is not None and network_s is not None:
            self._looks = self._looks + 1 if own_s > DEARER * network_s else 0
        return self._looks >= DOUBTS
