"""The trials of one run of a stream that are under way, and the objects that were looked at. Pure; bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from operators.frames.media_stopwatch import MediaStopwatch
from operators.recognise.audits.trial import Trial
from operators.recognise.objects.look_rule import REMEMBERED

MOST_TRIALS = 256
"""Trials of a stream that are under way at once."""


class _Asked(NamedTuple):
    """An object that was looked at while a shortcut could have answered, or proved itself."""

    shadow: bool
    """Whether it proved itself at the first of these looks."""
    answered: bool = False


class OpenTrials:
    """Time is media time that passed, whatever single frames claim of it."""

    def __init__(self) -> None:
        self._trials: dict[tuple[int, str], Trial] = {}
        self._seen: OrderedDict[tuple[int, str], _Asked] = OrderedDict()
        """Objects that were looked at, by shortcut."""
        self._clock = MediaStopwatch()

    @property
    def now_s(self) -> float:
        """Media time since the run's first frame."""
        return self._clock.now_s

    @property
    def has_room(self) -> bool:
        return len(self._trials) < MOST_TRIALS

    def frame(self, media_time_s: float) -> None:
        self._clock.move(media_time_s)

    def is_new(self, track: int, key: str, shadow: bool = False) -> bool:
        """Whether the object was never looked at before; from now on it was. ``shadow``: the oracle answers."""
        known = self._seen.get((track, key))
        self._note(track, key, known or _Asked(shadow))
        return known is None

    def asked_in_shadow(self, track: int, key: str) -> bool | None:
        """Whether the shortcut proved itself when the object was looked at first; None: it was not asked."""
        known = self._seen.get((track, key))
        return None if known is None else known.shadow

    def answers_first(self, track: int, key: str) -> bool:
        """Whether the shortcut answers for the object for the first time; from now on it has."""
        first = not self.has_answered(track, key)
        self._note(track, key, _Asked(bool(self.asked_in_shadow(track, key)), answered=True))
        return first

    def has_answered(self, track: int, key: str) -> bool:
        known = self._seen.get((track, key))
        return known is not None and known.answered

    def open(self, track: int, trial: Trial) -> None:
        self._trials[track, trial.key] = trial

    def of(self, track: int, key: str) -> Trial | None:
        """The trial that a look at the object is part of; None once it has its conclusion."""
        found = self._trials.get((track, key))
        return None if found is None or found.over else found

    def concluded(self, track: int) -> None:
        """Note that the object has its conclusion."""
        for (each, _), trial in self._trials.items():
            trial.over |= each == track

    def done(self) -> Iterator[tuple[int, Trial]]:
        """Remove the trials for which nothing more is to be waited for; returns them with their tracks."""
        found = [(key, trial) for key, trial in self._trials.items() if trial.is_done(self.now_s)]
        for key, trial in found:
            del self._trials[key]
            yield key[0], trial

    def close(self) -> None:
        """Note that the run is over: no more looks will be begun."""
        for trial in self._trials.values():
            trial.over = True

    def _note(self, track: int, key: str, asked: _Asked) -> None:
        self._seen[track, key] = asked
        self._seen.move_to_end((track, key))
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
