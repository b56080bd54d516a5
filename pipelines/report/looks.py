"""How recognisers came to their answers: who looked how often, and how steady a track's answers were. Pure; bounded."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict

import msgspec

from operators.wire.schema import Attribute, Result
from pipelines.report.tracks import REMEMBERED_TRACKS


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
        """Take the result of a frame."""
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
