"""The changes in all frames together, by stream, and where most of them lie. Pure; bounded."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass

import msgspec

from operators.wire.schema import Result
from pipelines.observe.record.reading import RecordedFrame
from pipelines.run.replay.match import Compared, Difference, compare

LEAD_IN_S = 2.0
"""Media time at the beginning of an episode that is not compared: trackers and backgrounds have nothing behind them."""
MOST_WORST = 20
"""Frames that are listed."""
MOST_STREAMS = 1000
"""Streams that are counted apart; the others are counted together."""
REST = "(others)"


class StreamChange(msgspec.Struct):
    stream: str
    frames: int = 0
    """Frames that were compared."""
    objects: int = 0
    """Objects in what was found then or now; those that match count once."""
    changed: int = 0
    """Objects that are not as they were."""
    lost: int = 0
    new: int = 0
    renamed: int = 0
    answers: int = 0
    """Answers of recognisers, for objects that match, that are not as they were."""
    not_analysed: int = 0
    """Frames that had a result and have none now."""

    @property
    def share(self) -> float:
        """Changed objects among all, 0…1."""
        return self.changed / self.objects if self.objects else 0.0


@dataclass(frozen=True, slots=True)
class Worst:
    """A frame in which much has changed."""

    frame: RecordedFrame
    """Without its picture."""
    after: Result
    differences: tuple[Difference, ...]

    @property
    def weight(self) -> float:
        """How sure those were, together, whose words have changed."""
        return sum(each.confidence for each in self.differences)


class Comparison:
    """Takes every frame of a recording with its new result, in order."""

    def __init__(self) -> None:
        self._streams: dict[str, StreamChange] = {}
        self._worst: list[tuple[float, int, Worst]] = []
        self._begun: tuple[int, str, float] | None = None
        """The episode and the run that is compared, and the media time from which on it is."""
        self.seen = self.lead_in = self.unreadable = 0
        """Frames of the recording, those of them that lead in, and those that cannot be used."""

    def take(self, frame: RecordedFrame, after: Result | None, whole: bool = True) -> None:
        """Compare; ``after`` is None where the frame could not be used.

        ``whole``: whether all frames are there that the detector has looked at together with it.
        """
        self.seen += 1
        before = frame.result
        if before is None or after is None:
            self.unreadable += 1
            return
        if self._leads_in(frame.episode, before) or before.outcome != "analysed" or not whole:
            self.lead_in += 1
            return
        of = self._of(before.stream)
        if after.outcome != "analysed":
            of.not_analysed += 1
            return
        found = compare(before, after)
        of.frames += 1
        of.objects += found.objects
        of.changed += found.changed
        kinds = Counter(each.kind for each in found.differences)
        of.lost, of.new = of.lost + kinds["lost"], of.new + kinds["new"]
        of.renamed, of.answers = of.renamed + kinds["renamed"], of.answers + kinds["answer"]
        self._remember(frame, after, found)

    @property
    def compared(self) -> int:
        """Frames that had a result, and have one now or should."""
        return sum(each.frames + each.not_analysed for each in self._streams.values())

    @property
    def share(self) -> float:
        """Changed objects of all streams, 0…1."""
        objects = sum(each.objects for each in self._streams.values())
        return sum(each.changed for each in self._streams.values()) / objects if objects else 0.0

    @property
    def worst(self) -> list[Worst]:
        """The frames in which most has changed, the worst first."""
        return [worst for *_, worst in sorted(self._worst, key=lambda each: (-each[0], -each[1]))]

    def streams(self) -> list[StreamChange]:
        """By name."""
        return [each for _, each in sorted(self._streams.items())]

    def _leads_in(self, episode: int, before: Result) -> bool:
        """Whether nothing of the frame's past is known; a run's own beginning had no more."""
        at_s = before.frame.media_time_s
        if self._begun is None or self._begun[:2] != (episode, before.run):
            self._begun = episode, before.run, at_s if before.seq == 0 else at_s + LEAD_IN_S
        return at_s < self._begun[2]

    def _of(self, stream: str) -> StreamChange:
        if stream not in self._streams and len(self._streams) >= MOST_STREAMS:
            stream = REST
        return self._streams.setdefault(stream, StreamChange(stream))

    def _remember(self, frame: RecordedFrame, after: Result, found: Compared) -> None:
        if not found.differences:
            return
        worst = Worst(_bare(frame), after, tuple(found.differences))
        heapq.heappush(self._worst, (worst.weight, -self.seen, worst))
        if len(self._worst) > MOST_WORST:
            heapq.heappop(self._worst)


def _bare(frame: RecordedFrame) -> RecordedFrame:
    return RecordedFrame(frame.episode, frame.place, frame.result)
