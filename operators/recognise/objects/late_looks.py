"""Looks by a network that is elsewhere and takes its time: no frame waits for one that would come late, and what comes
after its frame is the look of the next frame that shows the object.

Frames of a stream that waits for its analysis wait for every answer.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.recogniser import Recogniser
from operators.wire.result import FRAME
from operators.wire.schema import Attribute
from serving.common.clock import SYSTEM, Clock
from serving.common.tensors import Array, Image
from serving.errors import SluiceError

MOST_ASKED = 256
"""Looks of a node that are under way, or have come and were not used; beyond it none is begun."""
REST_S = 1.0
"""After a look that has failed, none is begun for so long, and those that are due fail as it did."""
NEWEST = 0.2
"""The weight of the latest time in what an answer usually takes."""

Heard = Callable[[Region, Image, Array], Awaitable[None]]
"""Hears of a region, its crop, and the network's output for that, 1 × …, as soon as it has come."""
Key = tuple[str, str, int]
"""Stream, run and track; of a picture, which has no track, its number below 0."""


@dataclass
class NotLooked:
    """The objects of a frame that were due and have no look."""

    late: list[Region] = field(default_factory=list)
    """Their answers come later."""
    failed: list[Region] = field(default_factory=list)
    reason: str = ""
    """Why those have failed, in a sentence."""
    error: SluiceError | None = None
    """The frame fails by it where no other network looks at those; None: they stay without a look."""

    @classmethod
    def down(cls, regions: Sequence[Region], error: SluiceError) -> NotLooked:
        """None of these has a look: the network is out of reach."""
        return cls(failed=[*regions], reason=str(error), error=error)

    @property
    def regions(self) -> Sequence[Region]:
        return [*self.late, *self.failed]

    def and_also(self, other: NotLooked) -> NotLooked:
        """Both together."""
        late, failed = [*self.late, *other.late], [*self.failed, *other.failed]
        return NotLooked(late, failed, self.reason or other.reason, self.error or other.error)


class LateLooks:
    """Those of one node; used from one event loop."""

    def __init__(self, recogniser: Recogniser, clock: Clock = SYSTEM) -> None:
        self._recogniser, self._clock = recogniser, clock
        self._asked: OrderedDict[Key, asyncio.Task[Attribute]] = OrderedDict()
        self._usual_s = math.inf
        self._rest_until_s, self._failure = -math.inf, ""

    def is_asked(self, frame: Frame, region: Region) -> bool:
        """Whether a look at the object was begun before, and has not been taken yet."""
        return _key(frame, region) in self._asked

    async def look(self, frame: Frame, regions: Sequence[Region], call: Call, heard: Heard | None = None) -> NotLooked:
        """Append a look to each region whose answer is there, or comes in time; returns the others.

        ``heard``: of the looks that begin now.
        """
        found, begun = NotLooked(), list[asyncio.Task[Attribute]]()
        waiting = list[tuple[Key, Region, asyncio.Task[Attribute]]]()
        for region in regions:
            key = _key(frame, region)
            if key is None:
                found.late.append(region)  # it is asked about once it has a track
                continue
            if key not in self._asked:
                if self._rests(call):
                    found.failed.append(region)
                    found.reason = self._failure
                    continue
                if not self._has_room():
                    found.late.append(region)
                    continue
                begun.append(self._begin(key, frame, region, call, heard))
            waiting.append((key, region, self._asked[key]))
        await self._wait([task for _, _, task in waiting] if call.unhurried else begun, call)
        for key, region, task in waiting:
            self._take(key, region, task, found)
        return found

    def forget(self, stream: str) -> None:
        """Give up the looks at a stream's objects."""
        for key in [key for key in self._asked if key[0] == stream]:
            self._asked.pop(key).cancel()

    async def close(self) -> None:
        """Give up all looks."""
        tasks = list(self._asked.values())
        self._asked.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(
        self, key: Key, frame: Frame, region: Region, call: Call, heard: Heard | None
    ) -> asyncio.Task[Attribute]:
        model = self._recogniser.roles.oracle if call.model is None else call.model
        (crop,) = self._recogniser.crops(model, frame, [region])
        # A copy: a view would keep the whole frame in memory.
        crop = crop.copy()
        tell = None if heard is None else partial(heard, region, crop)
        task = asyncio.create_task(self._look(model, crop, call, tell))
        task.add_done_callback(_noted)
        self._asked[key] = task
        return task

    async def _look(
        self, model: str, crop: Image, call: Call, tell: Callable[[Array], Awaitable[None]] | None
    ) -> Attribute:
        began_s = self._clock.monotonic_s()
        place, output = await self._recogniser.output(model, [crop], call.urgency)
        took_s = self._clock.monotonic_s() - began_s
        known = math.isfinite(self._usual_s)
        self._usual_s = NEWEST * took_s + (1 - NEWEST) * self._usual_s if known else took_s
        (answer,) = await self._recogniser.named(model, place, output)
        if tell is not None:
            await tell(output)
        return answer

    async def _wait(self, tasks: Sequence[asyncio.Task[Attribute]], call: Call) -> None:
        """Wait for answers as long as the frame can, if they usually come by then."""
        if not tasks:
            return
        if call.unhurried or math.isinf(call.urgency.deadline):
            await asyncio.wait(tasks)
            return
        left_s = call.urgency.deadline - call.urgency.downstream_s - self._clock.monotonic_s()
        if self._usual_s <= left_s:
            await asyncio.wait(tasks, timeout=left_s)

    def _take(self, key: Key, region: Region, task: asyncio.Task[Attribute], found: NotLooked) -> None:
        """Take an answer that has come; the stream may have left meanwhile, and answers may have had to give way."""
        if not task.done() or task.cancelled():
            found.late.append(region)
            return
        self._asked.pop(key, None)
        try:
            region.attributes.append(task.result())
        except SluiceError as error:
            found.failed.append(region)
            found.reason = self._failure = str(error)
            self._rest_until_s = self._clock.monotonic_s() + REST_S

    def _rests(self, call: Call) -> bool:
        """Whether a look would fail, as one did just now; a frame that waits for its analysis is never told so."""
        return not call.unhurried and self._clock.monotonic_s() < self._rest_until_s

    def _has_room(self) -> bool:
        """Whether another look may begin; where there are too many, answers that nobody has taken go."""
        if len(self._asked) >= MOST_ASKED:
            for key in [key for key, task in self._asked.items() if task.done()]:
                del self._asked[key]
        return len(self._asked) < MOST_ASKED


def _key(frame: Frame, region: Region) -> Key | None:
    if region.track_id is not None:
        return frame.stream, frame.run, region.track_id
    return (frame.stream, frame.run, -1 - frame.seq) if region.label == FRAME else None


def _noted(task: asyncio.Task[Attribute]) -> None:
    """Take note of an error, which nobody else may: the object may never be seen again."""
    if not task.cancelled():
        task.exception()
