"""Distinct tracks by label, in fixed memory. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass

REMEMBERED_TRACKS = 4096
"""How many tracks seen last are kept: an older one does not come back."""


@dataclass(slots=True)
class _Labels:
    """The labels of a track."""

    counts: Counter[str]
    usual: str
    """The most frequent one."""


class Tracks:
    """Counts distinct tracks by the label they bore most often, remembering only the latest."""

    def __init__(self, remembered: int = REMEMBERED_TRACKS) -> None:
        self._remembered = remembered
        self._labels: OrderedDict[tuple[str, str, int], _Labels] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def see(self, track: tuple[str, str, int], label: str) -> None:
        """An observation of a track."""
        known = self._labels.get(track)
        if known is None:
            self._labels[track] = _Labels(Counter((label,)), label)
            self._counts[label] += 1
            if len(self._labels) > self._remembered:
                self._labels.popitem(last=False)
            return
        self._labels.move_to_end(track)
        known.counts[label] += 1
        if label == known.usual:
            return
        ((usual, _),) = known.counts.most_common(1)
        if usual != known.usual:
            self._counts[known.usual] -= 1
            self._counts[usual] += 1
            known.usual = usual

    def counts(self) -> dict[str, int]:
        """Label → number of tracks, most frequent first."""
        return {label: count for label, count in self._counts.most_common() if count}
