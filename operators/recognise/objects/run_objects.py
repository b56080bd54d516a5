"""The objects of one run of a stream, by track. Pure; bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from operators.frames.frame import Box
from operators.frames.media_stopwatch import MediaStopwatch
from operators.recognise.objects.look_rule import LOOK_RULE, REMEMBERED, LookRule
from operators.recognise.objects.pool import Look, ObjectAnswer
from operators.recognise.objects.tracked_object import TrackedObject


class RunObjects:
    """The objects that were seen last. Time is media time that passed, whatever single frames claim of it."""

    def __init__(self, words: int, rule: LookRule = LOOK_RULE) -> None:
        """``words``: how many a look may say."""
        self._words, self._rule = max(2, words), rule
        self._objects: OrderedDict[int, TrackedObject] = OrderedDict()
        self._clock = MediaStopwatch()
        self.gone: list[ObjectAnswer] = []
        """Conclusions that are still to be told: of objects that have gone, or were another's part."""

    def frame(self, media_time_s: float) -> None:
        """Take the time of the next frame."""
        self._clock.move(media_time_s)
        self.gone += self._gone()

    def is_due(self, track: int, box: Box, moved: bool = False) -> bool:
        """Take an object of the frame; returns whether it should be looked at. ``moved``: see ``TrackedObject``."""
        known = self._objects.get(track)
        if known is None:
            known = self._objects[track] = TrackedObject(box, self._clock.now_s, self._words, self._rule)
        else:
            self._objects.move_to_end(track)
        due = known.is_due(box, self._clock.now_s, moved)
        if known.outgrown:
            self.gone += _last(track, known)
            known.concluded = True
        return due

    def can_wait(self, track: int) -> bool:
        """Whether a look at an object of the frame, which is due, may be made later."""
        return self._objects[track].can_wait(self._clock.now_s)

    def look(self, track: int, look: Look) -> ObjectAnswer | None:
        """Take a look at an object of the frame; returns the pool's conclusion, the first time that there is one."""
        known = self._objects[track]
        known.look(look, self._clock.now_s)
        if known.concluded or not known.conclusive:
            return None
        known.concluded = True
        return _answer(track, known)

    def __getitem__(self, track: int) -> TrackedObject:
        return self._objects[track]

    def close(self) -> list[ObjectAnswer]:
        """Forget all objects: the run is over; returns what was found out of those without a conclusion yet."""
        left = self.gone + [answer for track, each in self._objects.items() for answer in _last(track, each)]
        self.gone = []
        self._objects.clear()
        return left

    def _gone(self) -> Iterator[ObjectAnswer]:
        since_s = self._clock.now_s - self._rule.closed_after_s
        while self._objects:
            track, oldest = next(iter(self._objects.items()))
            if oldest.seen_s >= since_s and len(self._objects) <= REMEMBERED:
                return
            del self._objects[track]
            yield from _last(track, oldest)


def _last(track: int, gone: TrackedObject) -> list[ObjectAnswer]:
    """The conclusion of an object, unless there was one before, or no look."""
    return [] if gone.concluded or gone.belief is None else [_answer(track, gone)]


def _answer(track: int, known: TrackedObject) -> ObjectAnswer:
    assert known.belief is not None
    assert known.pool is not None
    return ObjectAnswer(track, known.belief, known.pool.looks, known.sure, dict(known.pool.looked))
