"""Distinct tracks by label, in fixed memory. Pure."""

from __future__ import annotations

from collections import Counter, OrderedDict

REMEMBERED_TRACKS = 4096
"""How many tracks seen last are kept: an older one does not come back."""


class Tracks:
    """Counts distinct tracks by the label they bore most often, remembering only the latest."""

    def __init__(self, remembered: int = REMEMBERED_TRACKS) -> None:
        self._remembered = remembered
        self._labels: OrderedDict[tuple[str, str, int], Counter[str]] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def see(self, track: tuple[str, str, int], label: str) -> None:
        """An observation of a track."""
        labels = self._labels.pop(track, Counter())
        self._counts.subtract(_usual(labels))
        labels[label] += 1
        self._counts.update(_usual(labels))
        self._labels[track] = labels
        if len(self._labels) > self._remembered:
            self._labels.popitem(last=False)

    def counts(self) -> dict[str, int]:
        """Label → number of tracks, most frequent first."""
        return {label: count for label, count in self._counts.most_common() if count}


def _usual(labels: Counter[str]) -> list[str]:
    """The most frequent label, as a list of one; of nothing, an empty list."""
    return [label for label, _ in labels.most_common(1)]
