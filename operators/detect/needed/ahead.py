"""Looks ahead: frames that wait behind one are planned together with it, by detections on some of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

from operators.base import Ahead, Call, NodeAnswer, Operator, ask
from operators.detect.needed.account import SkipTally
from operators.detect.needed.bisection import MOMENT_S, window_s
from operators.detect.needed.needed_stream import NeededStream
from operators.detect.needed.window import FrameWindow
from operators.frames.frame import Frame, Region
from serving.common.threads import in_thread
from serving.errors import TooLate

log = logging.getLogger(__name__)

FEWEST = 2
"""Frames of a window."""


class LookAhead:
    """Plans windows of streams whose frames wait."""

    def __init__(self, detector: Operator, sure: float) -> None:
        """``sure``: the confidence from which an object counts wherever it is missing."""
        self._detector, self._sure = detector, sure

    async def plan(self, stream: NeededStream, frame: Frame, call: Call) -> NodeAnswer | None:
        """Plan the frame that was looked at last and those that follow it; None where too few follow.

        Returns what the detector has answered for the last of them that it ran on.
        """
        view, every, tally = stream.view, stream.pace.every, stream.tally
        past, begun_s = call.decision.past, frame.media_time_s - view.step_s
        until_s = begun_s + window_s(every) - MOMENT_S if past is None else past.until_s
        frames = await self._gathered(frame, call.ahead, until_s)
        if len(frames) < FEWEST:
            return None
        window = view.window(frames, every, self._sure, stream.doubt.strict)
        try:
            answer = await self._detect(window, frames, call, tally)
        except TooLate:
            raise
        except Exception as error:  # perhaps on a frame far ahead, whose own turn comes
            log.debug("stream %s: a window is given up: %s", frame.stream, error)
            return None
        view.take(window, frames)
        stream.doubt.take(len(frames), window.doubtful, window.twice)
        tally.looks += len(frames) - 1
        tally.ahead += len(frames)
        return answer

    async def _gathered(self, frame: Frame, ahead: Ahead | None, until_s: float) -> Sequence[Frame]:
        """The frame and those behind it that are as large, to the end of a window."""
        if ahead is None:
            return [frame]
        frames = [frame]
        for each in await ahead.until(until_s):
            if each.pixels.shape != frame.pixels.shape:
                break
            frames.append(each)
        return frames

    async def _detect(self, window: FrameWindow, frames: Sequence[Frame], call: Call, tally: SkipTally) -> NodeAnswer:
        answer = NodeAnswer()
        while window.wanted is not None:
            answer = await ask(self._detector, frames[window.wanted - 1], (), call)
            took_s = await in_thread(partial(_timed, window, answer.regions))
            tally.look_s += took_s
        return answer


def _timed(window: FrameWindow, found: Sequence[Region]) -> float:
    started_s = time.thread_time()
    window.found(found)
    return time.thread_time() - started_s
