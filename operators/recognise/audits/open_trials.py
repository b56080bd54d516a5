"""The trials of one run of a stream that are under way, and which objects have been counted. Pure; bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from operators.frames.media_stopwatch import MediaStopwatch
from operators.recognise.audits.trial import Trial
from operators.recognise.objects.look_rule import REMEMBERED

MOST_TRIALS = 256
"""Trials of a stream that are under way at once."""


class OpenTrials:
    """Time is media time that passed, whatever single frames claim of it."""

    def __init__(self) -> None:
        self._trials: dict[int, list[Trial]] = {}
        self._counted: OrderedDict[int, set[str]] = OrderedDict()
        self._clock = MediaStopwatch()
        self._open = 0

    @property
    def now_s(self) -> float:
        """Media time since the run's first frame."""
        return self._clock.now_s

    @property
    def has_room(self) -> bool:
        return self._open < MOST_TRIALS

    def frame(self, media_time_s: float) -> None:
        self._clock.move(media_time_s)

    def is_new(self, track: int) -> bool:
        """Whether this is the first look at the object; from now on it is not."""
        new = track not in self._counted
        self._keys(track)
        return new

    def counts(self, track: int, key: str) -> bool:
        """Whether this is the first time that a shortcut answers for the object."""
        keys = self._keys(track)
        first = key not in keys
        keys.add(key)
        return first

    def has_counted(self, track: int, key: str) -> bool:
        """Whether a shortcut has answered for the object."""
        return key in self._counted.get(track, ())

    def open(self, track: int, trial: Trial) -> None:
        self._trials.setdefault(track, []).append(trial)
        self._open += 1

    def of(self, track: int) -> list[Trial]:
        return self._trials.get(track, [])

    def done(self) -> Iterator[Trial]:
        """Remove the trials for which nothing more is to be waited for, and return them."""
        for track, trials in list(self._trials.items()):
            for trial in trials[:]:
                if trial.is_done(self.now_s):
                    trials.remove(trial)
                    self._open -= 1
                    yield trial
            if not trials:
                del self._trials[track]

    def close(self) -> None:
        """Note that the run is over: no more looks will be begun."""
        for trials in self._trials.values():
            for trial in trials:
                trial.closed = True

    def _keys(self, track: int) -> set[str]:
        keys = self._counted.setdefault(track, set())
        self._counted.move_to_end(track)
        if len(self._counted) > REMEMBERED:
            self._counted.popitem(last=False)
        return keys
