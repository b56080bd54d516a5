"""One run of a stream: the latest thumbnail, the regions, and when the detector last ran."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import InitVar, dataclass, field, replace

from operators.decision import Past
from operators.detect.needed.carried import centred, covered_cells, identify, shifted
from operators.detect.needed.flow import flow
from operators.detect.needed.policy import FrameChanges, Reason, When
from operators.detect.needed.window import FrameWindow, KnownFrame, Planned
from operators.frames.changes import Cells, changed_cells, thumbnail
from operators.frames.frame import Frame, Region, boxes_of
from operators.frames.media_stopwatch import MediaStopwatch
from operators.track.tracker import KalmanTracker, TrackSettings
from serving.common.tensors import Image


@dataclass
class StreamView:
    """One run of a stream. ``look`` and ``found`` are called in turn, once a frame, not at the same time.

    Or ``window`` and ``take`` after ``look``: the frames of the window are planned then, and not looked at.
    """

    run: str
    first: InitVar[int] = 0
    """The number of the first object that it follows."""
    when: When = field(default_factory=When)
    regions: list[Region] = field(default_factory=list)
    """The detector's regions, moved to where they lie on the latest frame."""
    planned: dict[int, Planned] = field(default_factory=dict)
    """Frames of a window, by ``seq``."""
    step_s: float = 0.0
    """Media time from the frame before to the latest one."""
    _tracker: KalmanTracker = field(init=False)
    """Follows what the detector finds."""
    _tracked_s: float = 0.0
    """When it found something, or nothing, for the last time."""
    _clock: MediaStopwatch = field(default_factory=MediaStopwatch)
    _reference: Image | None = None
    """The thumbnail of the latest detection."""
    _before: Image | None = None
    _latest: Image | None = None
    _seen: FrameChanges | None = None
    _past: Past | None = None
    """The work on the latest frame before, where it is replayed."""

    def __post_init__(self, first: int) -> None:
        self._tracker = KalmanTracker(TrackSettings(), first)

    def anew(self) -> StreamView:
        """One that knows nothing of the stream, and gives no object a number that was given before."""
        return StreamView(self.run, self._tracker.next)

    def look(self, frame: Frame, every: int, patient: bool = False, past: Past | None = None) -> Reason | None:
        """Take a frame; returns why the detector must run on it. Where it need not, ``regions`` lie as they do now.

        ``patient``: all movement is a reason, because frames ahead may explain it. ``past``: see ``Decision``. Takes a
        millisecond: call it in a thread.
        """
        self._past = past
        self.step_s = self._clock.move(frame.media_time_s)
        small, before, reference = thumbnail(frame.pixels), self._latest, self._reference
        self._before, self._latest, self._seen = before, small, None
        why = self.when.due(self._clock.now_s, every, past)
        if why is not None or before is None or reference is None:
            return why or "first"
        if not before.shape == reference.shape == small.shape:  # the detector may have failed where that changed
            return "first"
        changed = changed_cells(reference, small)
        self._seen = FrameChanges(changed, changed & ~covered_cells(boxes_of(self.regions)))
        return self.look_on(1 if patient else every)

    @property
    def undecided(self) -> bool:
        """Whether the latest frame can be decided about by what it shows."""
        return self._seen is not None

    def look_on(self, every: int) -> Reason | None:
        """Decide about the latest frame, once more if that was done patiently. Takes a millisecond."""
        assert self._seen is not None
        assert self._before is not None
        assert self._latest is not None
        why = self.when.decide(self._seen, every, self._past)
        if why is None:
            if self.regions and self._seen.changed.any():
                self._move()
            self.when.skipped()
        return why

    def _move(self) -> None:
        """Move the regions to where they lie now: by their motion where that is known, else as the pixels moved."""
        centres = self._tracker.centres(self._clock.now_s - self._tracked_s)
        known = [each for each in self.regions if each.identity in centres]
        unknown = [each for each in self.regions if each.identity not in centres]
        self.regions = centred(known, centres)
        if unknown:
            assert self._before is not None
            assert self._latest is not None
            self.regions += shifted(unknown, flow(self._before, self._latest))

    def found(self, regions: Sequence[Region]) -> None:
        """Take what the detector found on the frame that was looked at last."""
        identify(regions, self._tracker, self._clock.now_s - self._tracked_s)
        self._detected(regions, None if self._seen is None else self._seen.news)

    def window(self, frames: Sequence[Frame], every: int, sure: float, strict: bool = False) -> FrameWindow:
        """Begin a window with the frame that was looked at last; others follow it."""
        assert self._before is not None
        clock = copy(self._clock)
        times_s = [clock.now_s - self.step_s, clock.now_s]
        for frame in frames[1:]:
            clock.move(frame.media_time_s)
            times_s.append(clock.now_s)
        known = KnownFrame(self._before, self.regions, self.when.age_s - self.step_s, self._tracker, self.when.resting)
        detected = () if self._past is None else self._past.window
        return FrameWindow(known, [frame.pixels for frame in frames], times_s, every, sure, detected, strict)

    def take(self, window: FrameWindow, frames: Sequence[Frame]) -> None:
        """Go on from the end of a window."""
        for frame in frames[1:]:
            self._clock.move(frame.media_time_s)
        planned = zip(frames, window.planned, strict=True)
        self.planned = {frame.seq: replace(plan, window=frames[0].seq) for frame, plan in planned}
        self.when.looked_ahead(self._clock.now_s)
        self._before, self._latest, self._seen = None, window.end, None
        self._tracker = window.tracker
        self._detected(window.regions, window.news)

    def _detected(self, regions: Sequence[Region], news: Cells | None) -> None:
        self.regions, self._reference, self._tracked_s = list(regions), self._latest, self._clock.now_s
        self.when.detected(covered_cells(boxes_of(regions)), news)
