"""What is known of one run of a stream: the latest thumbnail, the regions, and when the detector last ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from operators.detect.needed.carried import boxes_of, shifted
from operators.detect.needed.changes import Cells, changed_cells, covered_cells
from operators.detect.needed.flow import flow
from operators.detect.needed.policy import Reason, Seen, When
from operators.detect.needed.thumbnail import thumbnail
from operators.frames.frame import Frame, Region
from operators.frames.media_stopwatch import MediaStopwatch
from serving.common.tensors import Image


@dataclass
class StreamView:
    """One run of a stream. ``look`` and ``found`` are called in turn, once a frame, not at the same time."""

    run: str
    when: When = field(default_factory=When)
    regions: list[Region] = field(default_factory=list)
    """What the detector found, moved to where it lies on the latest frame."""
    _clock: MediaStopwatch = field(default_factory=MediaStopwatch)
    _reference: Image | None = None
    """The thumbnail of the latest detection."""
    _latest: Image | None = None
    _news: Cells | None = None

    def look(self, frame: Frame, every: int) -> Reason | None:
        """Take a frame; returns why the detector must run on it. Where it need not, ``regions`` lie as they do now.

        Takes a millisecond: call it in a thread.
        """
        self._clock.move(frame.media_time_s)
        small, before, reference = thumbnail(frame.image), self._latest, self._reference
        self._latest, self._news = small, None
        why = self.when.due(self._clock.now_s, every)
        if why is not None or before is None or reference is None or before.shape != small.shape:
            return why or "first"
        changed = changed_cells(reference, small)
        self._news = changed & ~covered_cells(boxes_of(self.regions))
        why = self.when.decide(Seen(changed, self._news), every)
        if why is None:
            self.regions = shifted(self.regions, flow(before, small) if self.regions and changed.any() else None)
            self.when.skipped()
        return why

    def found(self, regions: Sequence[Region]) -> None:
        """Take what the detector found on the frame that was looked at last."""
        self.regions, self._reference = list(regions), self._latest
        self.when.detected(covered_cells(boxes_of(regions)), self._news)
