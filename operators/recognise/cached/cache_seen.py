"""The answers of the caches in use on each stream, counted for the makers of caches. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Sequence

from cache_adapt.adaptation.triggers import VersionUse
from operators.recognise.cached.building import INDEPENDENT

LATEST = 200
"""Looks of a stream whose classes are told."""
MOST_STREAMS = 1000


class StreamSeen:
    """One stream."""

    def __init__(self) -> None:
        self.asked = self.answered = self.audits = self.agreed = 0
        self.latest: deque[int] = deque(maxlen=LATEST)
        """The classes of its latest looks."""
        self.told_s: float | None = None
        """When it was last told."""


class CacheSeen:
    """Counts what one version was asked; another version begins anew."""

    def __init__(self) -> None:
        self._streams: OrderedDict[str, StreamSeen] = OrderedDict()

    def of(self, stream: str) -> StreamSeen:
        """The counts of a stream; the stream that was seen longest ago gives way."""
        known = self._streams.setdefault(stream, StreamSeen())
        self._streams.move_to_end(stream)
        if len(self._streams) > MOST_STREAMS:
            self._streams.popitem(last=False)
        return known

    def told(self, stream: str, hit_rate: float) -> VersionUse:
        """The figures of a stream; ``hit_rate``: the share of looks that the caches should have answered.

        Looks at one object are alike, so they count as fewer.
        """
        seen = self.of(stream)
        asked, answered = round(INDEPENDENT * seen.asked), round(INDEPENDENT * seen.answered)
        mix = {label: max(round(INDEPENDENT * count), 1) for label, count in Counter(seen.latest).items()}
        return VersionUse(asked, answered, asked * min(max(hit_rate, 0.0), 1.0), seen.audits, seen.agreed, mix)

    def looked(self, stream: str, numbers: Sequence[int]) -> None:
        """Note the classes of looks, by any answer."""
        self.of(stream).latest.extend(numbers)

    def begin(self) -> None:
        """Another version is in use; classes stay, and every stream is to be told."""
        for seen in self._streams.values():
            seen.asked = seen.answered = seen.audits = seen.agreed = 0
            seen.told_s = None

    def forget(self, stream: str) -> None:
        self._streams.pop(stream, None)
