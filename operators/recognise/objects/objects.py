"""Gives tracked regions the answers of their objects, and says which of them are to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from operators.frames.frame import Frame, Region
from operators.recognise.objects.look_rule import LOOK_RULE, LookRule
from operators.recognise.objects.pool import Belief, Look, ObjectAnswer, Pool
from operators.recognise.objects.run_objects import RunObjects
from operators.recognise.objects.scene import Scene
from operators.recognise.objects.sight import cut_off
from operators.recognise.recogniser import Recogniser
from operators.wire.schema import Attribute, Provenance

if TYPE_CHECKING:
    from cache_adapt.learned.pooled import PoolRule, ShownLooks

LEAST_WEIGHT = 1e-3
"""The weight of a look at a box without area."""


RunOfObjects = RunObjects | Scene
"""The objects of one run of a stream, and the rule by which they are looked at."""


class Objects:
    """The objects of all streams of a node.

    They are part of no snapshot: another worker, which knows nothing of the tracks' boxes, looks at the objects anew.
    """

    def __init__(self, recogniser: Recogniser, rule: LookRule = LOOK_RULE) -> None:
        self._recogniser, self._rule = recogniser, rule
        self._runs: dict[str, tuple[str, RunOfObjects]] = {}

    def due(self, frame: Frame, regions: Sequence[Region]) -> tuple[list[Region], list[ObjectAnswer]]:
        """Return the regions to look at, those without a track among them, and what was found out of objects gone.

        An object whose box has outgrown its looks has gone, as they say nothing of what it holds now.
        """
        objects, gone = self._run(frame)
        objects.frame(frame.media_time_s)
        due = [each for each in regions if each.track_id is None or _is_due(objects, each.track_id, each)]
        gone += objects.gone
        objects.gone = []
        return due, gone

    def can_wait(self, stream: str, region: Region) -> bool:
        """Whether a region of the stream's latest frame that is due may be looked at later."""
        return region.track_id is not None and self._runs[stream][1].can_wait(region.track_id)

    def answer(self, frame: Frame, regions: Sequence[Region], looked: Sequence[Region]) -> list[ObjectAnswer]:
        """Give every region the answer of its object; the last attribute of those ``looked`` at is the look.

        An object that nobody has looked at yet is ``unknown``. Returns the conclusions of this frame.
        """
        _, objects = self._runs[frame.stream]
        concluded: list[ObjectAnswer] = []
        by_track: dict[int, Provenance] = {}
        for region in looked:
            look = region.attributes.pop()
            if region.track_id is None:
                region.attributes.append(self._recogniser.accepted(look))
                continue
            by_track[region.track_id] = look.provenance
            if (answer := objects.look(region.track_id, self.look(frame, region, look))) is not None:
                concluded.append(answer)
        for region in regions:
            if region.track_id is not None:
                region.attributes.append(self._published(objects, region.track_id, by_track.get(region.track_id)))
            elif not any(region is each for each in looked):
                region.attributes.append(self._recogniser.unanswered())
        return concluded

    def look(self, frame: Frame, region: Region, said: Attribute) -> Look:
        return Look(said, self._recogniser.certainty(said), self.weight(frame, region))

    def weight(self, frame: Frame, region: Region) -> float:
        """Return the weight of a look: its pixels, up to those that the network takes."""
        share = region.box.area * frame.width * frame.height / self._recogniser.pixels
        return min(max(share, LEAST_WEIGHT), 1.0)

    @property
    def words(self) -> int:
        """How many words a look may say, 2 or more."""
        return max(2, len(self._recogniser.labels(self._recogniser.roles.oracle)))

    @property
    def pool_rule(self) -> PoolRule | None:
        """The rule by which looks are pooled, for many objects at once; None: an object has no one answer."""
        from cache_adapt.learned.pooled import PoolRule  # with what exits are made of: not before they are wanted

        rule = self._rule
        return PoolRule(self.words, rule.correlation, rule.border_strength, self._recogniser.names_by_look)

    def new_pool(self, whole: bool) -> Pool:
        """A pool for looks at one object, by the node's rule; else at a part of it."""
        return Pool(self.words, self._rule.correlation, 1.0 if whole else self._rule.border_strength)

    def answer_of(self, belief: Belief) -> Attribute:
        """The answer that is published of looks that were pooled."""
        said, posterior, score = belief
        confidence = self._recogniser.pooled_confidence(posterior, score)
        return self._recogniser.accepted(msgspec.structs.replace(said, confidence=confidence))

    def forget(self, stream: str) -> list[ObjectAnswer]:
        """Drop a stream; returns what was found out of objects without a conclusion yet."""
        _, objects = self._runs.pop(stream, (None, None))
        return objects.close() if objects is not None else []

    def begin(self, stream: str) -> RunOfObjects:
        """The objects of a stream's next run, of which none is known."""
        return RunObjects(self.words, self._rule)

    def _run(self, frame: Frame) -> tuple[RunOfObjects, list[ObjectAnswer]]:
        """Return the objects of the frame's run; a new run of the source has other tracks."""
        run, objects = self._runs.get(frame.stream, (None, None))
        if objects is not None and run == frame.run:
            return objects, []
        gone = self.forget(frame.stream)
        objects = self.begin(frame.stream)
        self._runs[frame.stream] = frame.run, objects
        return objects, gone

    def _published(self, objects: RunOfObjects, track: int, looked: Provenance | None) -> Attribute:
        known = objects[track]
        if looked is None and known.published is not None:
            return known.published
        if known.belief is None or known.pool is None:
            return self._recogniser.unanswered()
        known.published = msgspec.structs.replace(
            self.answer_of(known.belief), provenance="track", looks=known.pool.looks
        )
        return msgspec.structs.replace(known.published, looked=looked)


def shown(frame: Frame, regions: Sequence[Region], objects: Objects | None) -> ShownLooks:
    """The objects of looks; ``objects``: pools them, None: nobody does. Without a track no object is seen twice."""
    from cache_adapt.learned.pooled import ShownLooks  # as above

    tracks = [f"{frame.seq}/{each.id}" if each.track_id is None else str(each.track_id) for each in regions]
    names = [f"{frame.stream}/{frame.run}/{track}" for track in tracks]
    if objects is None:
        return ShownLooks.of(names)
    weights = np.array([objects.weight(frame, each) for each in regions], np.float32)
    return ShownLooks(names, weights, np.array([not cut_off(each.box) for each in regions], np.bool_))


def _is_due(objects: RunOfObjects, track: int, region: Region) -> bool:
    return objects.is_due(track, region.box, moved=region.age_s is not None)
