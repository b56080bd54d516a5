"""Pictures for those who look: made from a frame now and then, in a thread, and not at all while nobody looks."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Literal

from operators.frames.frame import Frame
from operators.frames.preview import preview
from operators.wire.schema import Result
from pipelines.observe.live.viewers import Viewers
from pipelines.observe.live.views import picture
from serving.common.redaction import redact
from serving.common.tensors import Image
from serving.common.threads import in_thread

log = logging.getLogger(__name__)

Size = Literal["small", "large"]
WIDTHS: dict[Size, int] = {"small": 640, "large": 1280}
QUALITY: dict[Size, int] = {"small": 72, "large": 80}
EVERY_S: dict[Size, float] = {"small": 0.5, "large": 0.2}
"""Least time between two pictures of a stream."""
WALL_RATE = 16.0
"""Small pictures a second, of all streams together."""
REMEMBERED = 1024
"""Streams whose last picture is remembered, in either size: more than the page shows."""
AT_ONCE = 2
"""Frames that are held to make pictures of."""

Load = Callable[[], Image]


class Pictures:
    """Decides which frames become pictures, and sends them to those who look."""

    def __init__(self, viewers: Viewers, streams: Callable[[], int], now: Callable[[], float] = time.monotonic) -> None:
        """``streams``: how many there are, for all share what the wall may take."""
        self._viewers, self._streams, self._now = viewers, streams, now
        self._made_s: dict[tuple[str, Size], float] = {}
        self._making: set[asyncio.Task[None]] = set()
        self._failed = False

    async def take(self, frame: Frame, result: Result) -> None:
        """A final step of the executor: never waits."""
        if len(self._viewers) or self._made_s:
            self.offer(result, lambda: frame.image)

    def due(self, stream: str) -> list[Size]:
        """The sizes that somebody waits for, of this stream, now."""
        if not len(self._viewers) or len(self._making) >= AT_ONCE:
            return []
        looked_at = {viewer.stream for viewer in self._viewers}
        wanted: list[Size] = ["small"] if None in looked_at else []
        wanted += ["large"] if stream in looked_at else []
        return [size for size in wanted if self._now() - self._made_s.get((stream, size), -1e9) >= self._gap_s(size)]

    def offer(self, result: Result, load: Load) -> None:
        """Make pictures of a frame if somebody waits for one; ``load`` is called in a thread."""
        if not len(self._viewers):
            self._made_s.clear()
            return
        for size in self.due(result.stream):
            self._made_s.pop((result.stream, size), None)
            self._made_s[result.stream, size] = self._now()
            if len(self._made_s) > REMEMBERED:
                del self._made_s[next(iter(self._made_s))]
            task = asyncio.get_running_loop().create_task(self._make(result, load, size))
            self._making.add(task)
            task.add_done_callback(self._making.discard)

    async def settled(self) -> None:
        """Return when no picture is being made."""
        await asyncio.gather(*self._making)

    def _gap_s(self, size: Size) -> float:
        return max(EVERY_S[size], self._streams() / WALL_RATE if size == "small" else 0.0)

    async def _make(self, result: Result, load: Load, size: Size) -> None:
        try:
            jpeg = await in_thread(partial(_jpeg, load, WIDTHS[size], QUALITY[size]))
        except Exception as error:  # it costs this picture alone
            if not self._failed:
                self._failed = True
                log.warning("the page has no picture of a frame: %s; this is logged once", redact(str(error)))
            return
        message = picture(result, jpeg)
        for viewer in self._viewers:
            if viewer.stream == (None if size == "small" else result.stream):
                viewer.send(f"picture {result.stream}", "picture", message)


def _jpeg(load: Load, width: int, quality: int) -> str:
    """Base64 of the picture, no wider than ``width``."""
    return base64.b64encode(preview(load(), width, quality)[0]).decode()
