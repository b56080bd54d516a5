"""Pictures for those who look, of frames and of what events are about: made now and then, in a thread, and not at all
while nobody looks.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from operators.frames.codec import preview
from operators.frames.frame import Frame
from operators.wire.schema import BoundingBox, Result
from pipelines.observe.live.board import Board
from pipelines.observe.live.sightings import ListedEvent
from pipelines.observe.live.viewers import Viewer, Viewers
from pipelines.observe.live.views import picture
from serving.common.redaction import redact
from serving.common.tensors import Image
from serving.common.threads import in_thread

log = logging.getLogger(__name__)

Size = Literal["small", "large", "thumbnail"]
WIDTHS: dict[Size, int] = {"small": 640, "large": 1280, "thumbnail": 128}
QUALITY: dict[Size, int] = {"small": 72, "large": 80, "thumbnail": 70}
EVERY_S: dict[Size, float] = {"small": 0.5, "large": 0.2, "thumbnail": 0.2}
"""Least time between two pictures of a stream."""
WALL_RATE = 16.0
"""Small pictures a second, of all streams together; frames a second of which thumbnails are made."""
MARGIN = 0.12
"""The surroundings of an object in its thumbnail, as a share of its sides."""
REMEMBERED = 1024
"""Streams whose last picture is remembered, in each size: more than the page shows."""
LAST = 16
"""Streams whose last frame is kept, where the page stays when they have ended."""
AT_ONCE = 2
"""Frames that are held to make pictures of."""
ASKS_S = 2.0
"""A stream that waits for its turn has it as long as frames come so often."""

Load = Callable[[], Image]
Wanting = tuple[ListedEvent, BoundingBox]


class Pictures:
    """Decides which frames become pictures, and sends them to those who look."""

    def __init__(self, viewers: Viewers, board: Board, now: Callable[[], float] = time.monotonic) -> None:
        """``board``: says how many streams share what the wall may take, and which events want a thumbnail."""
        self._viewers, self._board, self._now = viewers, board, now
        self._made_s: dict[tuple[str, Size], float] = {}
        self._asked_s: dict[str, float] = {}
        """When streams asked last that wait for their turn."""
        self._served = set[str]()
        """Those that have had it, and have it again once nobody else waits for it."""
        self._last: OrderedDict[str, tuple[Result, Load]] = OrderedDict()
        self.keeps_last = False
        """Whether last frames are kept, and events get thumbnails, for later viewers."""
        self._making: set[asyncio.Task[None]] = set()
        self._failed = False

    async def take(self, frame: Frame, result: Result) -> None:
        """A final step of the executor: never waits."""
        if len(self._viewers) or self._made_s or self.keeps_last:
            self.offer(result, lambda: frame.image)

    def offer(self, result: Result, load: Load) -> None:
        """Make pictures of a frame if a viewer waits for one; ``load`` is called in a thread."""
        if self.keeps_last:
            self._last[result.stream] = result, load
            self._last.move_to_end(result.stream)
            if len(self._last) > LAST:
                self._last.popitem(last=False)
        elif not len(self._viewers):
            self._made_s.clear()
            return
        events = self._board.without_thumbnail(result)
        sizes = self._due(result.stream, bool(events))
        for size in sizes:
            self._made_s.pop((result.stream, size), None)
            self._made_s[result.stream, size] = self._now()
            if len(self._made_s) > REMEMBERED:
                del self._made_s[next(iter(self._made_s))]
        if sizes:
            task = asyncio.get_running_loop().create_task(self._make(result, load, sizes, events))
            self._making.add(task)
            task.add_done_callback(self._making.discard)

    def _due(self, stream: str, has_events: bool) -> list[Size]:
        """The sizes that viewers wait for, of this stream, now."""
        looked_at = {viewer.stream for viewer in self._viewers}
        wanted: list[Size] = ["small"] if None in looked_at else []
        wanted += ["large"] if stream in looked_at else []
        wanted += ["thumbnail"] if has_events else []
        now_s = self._now()
        due = [size for size in wanted if now_s - self._made_s.get((stream, size), -1e9) >= self._gap_s(size)]
        return due if due and self._has_turn(stream, now_s) else []

    def _has_turn(self, stream: str, now_s: float) -> bool:
        """Streams whose frames come together have pictures in turns, or the last of them would never have one."""
        self._asked_s = {each: at_s for each, at_s in self._asked_s.items() if now_s - at_s < ASKS_S}
        if len(self._served) >= REMEMBERED or (stream in self._served and not self._asked_s):
            self._served.clear()
        free = AT_ONCE - len(self._making) - (len(self._asked_s) if stream in self._served else 0)
        if free > 0:
            self._asked_s.pop(stream, None)
            self._served.add(stream)
        elif stream not in self._served and (stream in self._asked_s or len(self._asked_s) < REMEMBERED):
            self._asked_s[stream] = now_s
        return free > 0

    async def show_last(self, viewer: Viewer) -> None:
        """Make the first pictures of who has just come, of frames that were there before, one after the other."""
        wanted = list(self._last) if viewer.stream is None else [viewer.stream]
        for stream in wanted:
            if stream in self._last:
                result, load = self._last[stream]
                await self._make(result, load, ["small" if viewer.stream is None else "large"], ())

    async def settled(self) -> None:
        """Return when no picture is being made."""
        await asyncio.gather(*self._making)

    def _gap_s(self, size: Size) -> float:
        return max(EVERY_S[size], 0.0 if size == "large" else self._board.streams / WALL_RATE)

    async def _make(self, result: Result, load: Load, sizes: Sequence[Size], events: Sequence[Wanting]) -> None:
        boxes = [box for _, box in events] if "thumbnail" in sizes else []
        try:
            jpegs, thumbnails = await in_thread(
                partial(_encoded, load, [each for each in sizes if each != "thumbnail"], boxes)
            )
        except Exception as error:  # it costs these pictures alone
            if not self._failed:
                self._failed = True
                log.warning("the page has no picture of a frame: %s; this is logged once", redact(str(error)))
            return
        for (event, _), thumbnail in zip(events, thumbnails, strict=False):
            event.thumbnail, event.is_own = thumbnail, True
        for size, jpeg in jpegs.items():
            message = picture(result, base64.b64encode(jpeg).decode())
            for viewer in self._viewers:
                if viewer.stream == (None if size == "small" else result.stream):
                    viewer.send(f"picture {result.stream}", "picture", message)


def _encoded(
    load: Load, sizes: Sequence[Size], boxes: Sequence[BoundingBox]
) -> tuple[dict[Size, bytes], list[bytes | None]]:
    image = load()
    return {size: preview(image, WIDTHS[size], QUALITY[size])[0] for size in sizes}, [
        _crop(image, box) for box in boxes
    ]


def _crop(image: Image, box: BoundingBox) -> bytes | None:
    """The object with a little around it, within a square; None where nothing of it is in the picture."""
    height, width = image.shape[:2]
    x_around, y_around = MARGIN * (box.x_max - box.x_min), MARGIN * (box.y_max - box.y_min)
    left, right = (round(min(max(x, 0.0), 1.0) * width) for x in (box.x_min - x_around, box.x_max + x_around))
    top, bottom = (round(min(max(y, 0.0), 1.0) * height) for y in (box.y_min - y_around, box.y_max + y_around))
    if right <= left or bottom <= top:
        return None
    most = max(1, round(WIDTHS["thumbnail"] * min(1.0, (right - left) / (bottom - top))))
    return preview(image[top:bottom, left:right], most, QUALITY["thumbnail"])[0]
