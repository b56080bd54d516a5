"""The shortcut that runs no network: a tracked object keeps its recent answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.shortcuts.shortcut import Shortcut, Turn
from operators.recognise.shortcuts.track_answers import TrackAnswers
from operators.wire.schema import ShortcutKind


def one_epoch(stream: str) -> int:
    """Return a constant epoch, for nodes that do not detect when a stream's content changes."""
    return 0


class Reuse(Shortcut):
    """Repeats for a track the answer that later links gave."""

    kind: ShortcutKind = "reused"
    models = ("tracks",)

    def __init__(self, reuse_s: float, sure: float, epoch: Callable[[str], int] = one_epoch) -> None:
        """See ``TrackAnswers``; ``epoch``: of a stream, answers of another one are not given again."""
        self._reuse_s, self._sure, self._epoch = reuse_s, sure, epoch
        self._tracks: dict[str, tuple[str, TrackAnswers]] = {}

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        """See ``Shortcut``."""
        answered: list[Region] = []
        rest: list[Region] = []
        tracks, epoch, at_s = self._tracks_of(frame), self._epoch(frame.stream), frame.media_time_s
        for region in regions:
            track = region.track_id
            said = None if track is None else tracks.recall(track, at_s, region.box.area, epoch)
            if said is None:
                rest.append(region)
            else:
                region.attributes.append(msgspec.structs.replace(said, provenance=self.kind))
                answered.append(region)
        return Turn(answered, rest)

    def learned(self, frame: Frame, turn: Turn) -> None:
        """Keep the answers of tracks that later links looked at."""
        tracks, epoch = self._tracks_of(frame), self._epoch(frame.stream)
        for region in turn.rest:
            if region.track_id is not None:
                tracks.looked(region.track_id, frame.media_time_s, region.box.area, epoch, region.attributes[-1])

    def forget(self, stream: str) -> None:
        """See ``Shortcut``."""
        self._tracks.pop(stream, None)

    def _tracks_of(self, frame: Frame) -> TrackAnswers:
        """Return the answers of this run, since a new run of the source has other tracks."""
        run, tracks = self._tracks.get(frame.stream, (None, None))
        if tracks is None or run != frame.run:
            tracks = TrackAnswers(self._reuse_s, self._sure)
            self._tracks[frame.stream] = frame.run, tracks
        return tracks
