"""Distinct tracks by label, and recognisers' answers: who looked, and how steady they were. Pure; bounded."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass

import msgspec

from operators.wire.schema import Attribute, Result

REMEMBERED_TRACKS = 4096
"""How many tracks seen last are kept: an older one does not come back."""


@dataclass(slots=True)
class _Labels:
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


class LookReport(msgspec.Struct, frozen=True):
    """The answers to one question, as ``type``."""

    attribute: str
    answers: int
    """Objects that were given one, frame by frame."""
    looks: dict[str, int]
    """Objects that were looked at for it, by who looked; most frequent first."""
    looks_per_track: float | None
    """Mean number of looks at a track; None without tracks."""
    flicker: float | None
    """Share of the consecutive answers of a track that differ, 0…1; None without any."""


class LookCounts:
    """Counts answers and looks by attribute; of tracks it remembers the latest."""

    def __init__(self, remembered: int = REMEMBERED_TRACKS) -> None:
        self._remembered = remembered
        self._counts: defaultdict[str, _Counts] = defaultdict(_Counts)
        self._last: OrderedDict[tuple[str, str, int, str], str] = OrderedDict()

    def see(self, result: Result) -> None:
        for found in result.objects:
            for said in found.attributes:
                self._counts[said.name].add(said, found.track_id is not None)
                if found.track_id is not None:
                    self._follow((result.stream, result.run, found.track_id, said.name), said.label)

    def report(self) -> list[LookReport]:
        """One entry for each attribute, in the order in which they were first seen."""
        return [counts.report(name) for name, counts in self._counts.items()]

    def _follow(self, track: tuple[str, str, int, str], label: str) -> None:
        before, counts = self._last.pop(track, None), self._counts[track[-1]]
        if before is None:
            counts.tracks += 1
        else:
            counts.pairs += 1
            counts.changes += before != label
        self._last[track] = label
        if len(self._last) > self._remembered:
            self._last.popitem(last=False)


class _Counts:
    def __init__(self) -> None:
        self.answers = self.tracks = self.tracked_looks = self.pairs = self.changes = 0
        self.looks: Counter[str] = Counter()

    def add(self, said: Attribute, tracked: bool) -> None:
        self.answers += 1
        looked = said.looked if said.provenance == "track" else said.provenance
        if looked is not None:
            self.looks[looked] += 1
            self.tracked_looks += tracked

    def report(self, name: str) -> LookReport:
        looks_per_track = round(self.tracked_looks / self.tracks, 2) if self.tracks else None
        flicker = round(self.changes / self.pairs, 4) if self.pairs else None
        return LookReport(name, self.answers, dict(self.looks.most_common()), looks_per_track, flicker)
