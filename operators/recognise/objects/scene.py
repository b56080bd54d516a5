"""When a whole frame is looked at, and what its looks say together: the scene is one object. Pure.

A look is made when it is due, and at once when the picture has become another one; it counts for some seconds. Where
the picture stands still, so does the time by which looks grow old, and they are made more seldom. A few looks in a row
are a conclusion, as of an object, under a number as that of a track.
"""

from __future__ import annotations

from collections import deque

from operators.frames.changes import LEAST_LEVELS, brighter, changed_cells
from operators.frames.frame import Box
from operators.frames.media_stopwatch import MediaStopwatch
from operators.recognise.objects.look_rule import LOOK_RULE, SCENE_RULE, SceneRule
from operators.recognise.objects.pool import Belief, Look, ObjectAnswer, Pool
from operators.wire.schema import Attribute
from serving.common.tensors import Image

MOST_LOOKS = 16
"""Looks that are pooled at most, also where the media time stands still."""
MOMENT_S = 0.001
"""Time stamps are rounded."""


class Scene:
    """The looks at the frames of one run of a stream; for each frame ``asks`` comes first, then ``see``."""

    def __init__(self, words: int, rule: SceneRule = SCENE_RULE) -> None:
        """``words``: how many a look may say."""
        self._words, self._rule = words, rule
        self._clock = MediaStopwatch()
        self._seen: Image | None = None
        self._looked: Image | None = None
        self._seen_s = self._looked_s = self._due_s = self._still_s = 0.0
        self._begun_s = -rule.window_s
        self._frames = 0
        self._looks: deque[tuple[float, Look]] = deque(maxlen=MOST_LOOKS)
        self._wanted, self._concluded, self._made = True, False, 0
        self.number = 0
        """The present conclusion's, in place of a track's."""
        self.gone: list[ObjectAnswer] = []
        """Conclusions that are still to be told."""
        self.pool: Pool | None = None
        self.belief: Belief | None = None
        self.published: Attribute | None = None
        """The answer that results give; set by the caller."""

    def asks(self, media_time_s: float) -> bool:
        """Take the time of the next frame; returns whether its thumbnail is to be seen."""
        elapsed_s = self._clock.move(media_time_s)
        self._frames += 1
        if elapsed_s >= self._rule.window_s:
            self._begin()
        return self._wanted or self._is_due or self._now_s >= self._seen_s + self._rule.compare_every_s - MOMENT_S

    def see(self, thumbnail: Image) -> None:
        """Find out whether the frame is to be looked at: takes a tenth of a millisecond."""
        before, self._seen, self._seen_s = self._seen, thumbnail, self._now_s
        may_end = self.pool is not None and self._now_s >= self._begun_s + self._rule.window_s
        if may_end and self._is_cut(before, thumbnail):
            self._begin()
        elif self._is_due and self._stands(thumbnail):
            self._due_s += self._rule.look_every_s
            self._still_s += self._rule.look_every_s
        elif self._is_due:
            self._want()

    def frame(self, media_time_s: float) -> None:
        """Do nothing: ``asks`` has taken the time."""

    def is_due(self, track: int, box: Box, moved: bool = False) -> bool:
        """Whether the frame is to be looked at."""
        return self._wanted

    def can_wait(self, track: int) -> bool:
        """Whether a look that is due may be made later: what is known is of this scene."""
        return bool(self._looks) and self._now_s < self._due_s + LOOK_RULE.postponed_s

    def look(self, track: int, look: Look) -> ObjectAnswer | None:
        """Take a look at the frame; returns the conclusion once it is the last of so many."""
        at_s, rule = self._now_s - self._still_s, self._rule
        self._looks.append((at_s, look))
        while self._looks[0][0] <= at_s - rule.window_s + MOMENT_S:
            self._looks.popleft()
        self.pool = Pool(self._words, LOOK_RULE.correlation)
        for _, each in self._looks:
            self.pool.add(each)
        self.belief = self.pool.belief()
        self._looked, self._looked_s, self._frames, self._wanted = self._seen, self._now_s, 0, False
        in_time = self._due_s > self._now_s - rule.look_every_s / 2
        self._due_s = (self._due_s if in_time else self._now_s) + rule.look_every_s
        self._made += 1
        if self._concluded or self._made < LOOK_RULE.most_looks:
            return None
        self._concluded = True
        return self._answer(self.pool, self.belief)

    def __getitem__(self, track: int) -> Scene:
        return self

    def close(self) -> list[ObjectAnswer]:
        """Return what was found out of the last scene, if there is no conclusion yet."""
        self._end()
        gone, self.gone = self.gone, []
        return gone

    @property
    def _now_s(self) -> float:
        return self._clock.now_s

    @property
    def _is_due(self) -> bool:
        return self._now_s >= self._due_s - MOMENT_S or self._frames >= self._rule.most_frames

    def _is_cut(self, before: Image | None, now: Image) -> bool:
        if before is None or before.shape != now.shape:
            return True
        lit = abs(brighter(before, now)) >= self._rule.cut_levels
        return lit or bool(changed_cells(before, now).mean() >= self._rule.cut_share)

    def _stands(self, now: Image) -> bool:
        """Whether another look would say what the last ones say: nothing has changed since."""
        known = len(self._looks) >= LOOK_RULE.most_looks and self._frames < self._rule.most_frames
        if not known or self._now_s >= self._looked_s + self._rule.still_s - MOMENT_S:
            return False
        before = self._looked
        if before is None or before.shape != now.shape or abs(brighter(before, now)) >= LEAST_LEVELS:
            return False
        return not changed_cells(before, now).any()

    def _want(self) -> None:
        if self._concluded:
            self._next()
        self._wanted = True

    def _begin(self) -> None:
        """Begin with another scene: looks at the one before say nothing of it."""
        self._end()
        self._looks.clear()
        self._begun_s = self._due_s = self._now_s
        self._wanted = True

    def _end(self) -> None:
        if self.pool is not None and self.belief is not None and self._made:
            if not self._concluded:
                self.gone.append(self._answer(self.pool, self.belief))
            self._next()

    def _next(self) -> None:
        self.number += 1
        self._concluded, self._made = False, 0

    def _answer(self, pool: Pool, belief: Belief) -> ObjectAnswer:
        sure = belief.posterior >= LOOK_RULE.sure
        return ObjectAnswer(self.number, belief, pool.looks, sure, dict(pool.looked))
