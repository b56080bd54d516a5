"""The decisions of a recording, for the planner that decides so again.

Decisions that depended on time and chance, such as which frames a detector skipped and which it planned together, are
in the results. What they were taken from, the frames and the hurry of that moment, is not there any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from operators.decision import Decision, Past
from operators.wire.schema import FrameId, Result
from pipelines.execute.ahead import BYTES_AHEAD, FRAMES_AHEAD
from pipelines.observe.record.reading import RecordedFrame
from pipelines.planning.planner import Planner, PlannerAround, Start, Step


def together(frames: Iterable[RecordedFrame]) -> Iterator[list[RecordedFrame]]:
    """Frames that were planned together by looking ahead, others alone; bounded in number and bytes."""
    batch: list[RecordedFrame] = []
    for frame in frames:
        full = len(batch) >= FRAMES_AHEAD or sum(_bytes(each) for each in batch) + _bytes(frame) > BYTES_AHEAD
        if batch and (full or not _goes_on(frame.result)):
            yield batch
            batch = []
        batch.append(frame)
    if batch:
        yield batch


def pasts(batch: Sequence[Result]) -> list[dict[str, Past]]:
    """The work of each frame's detectors; of frames that were planned together, but are not all here, less."""
    return [
        {
            name: _past(name, place, batch)
            for name, decision in result.plan.nodes.items()
            if decision.skipped is not None
        }
        for place, result in enumerate(batch)
    ]


def is_whole(batch: Sequence[Result]) -> bool:
    """Whether all frames are here that were planned together: the first and the last, which is always detected."""
    return all(
        decision.window is None
        or (decision.window >= batch[0].seq and (result is not batch[-1] or decision.skipped is False))
        for result in batch
        for decision in result.plan.nodes.values()
    )


class AsThen(PlannerAround):
    """Planner: the query's own, which is reminded of what was done on the frame."""

    def __init__(self, planner: Planner) -> None:
        super().__init__(planner)
        self._past: dict[FrameId, dict[str, Past]] = {}
        self._at_hand: dict[str, dict[str, Past]] = {}

    def remember(self, frame: FrameId, past: dict[str, Past]) -> None:
        """Take what was done on a frame that comes."""
        self._past[frame] = past

    def begins(self, start: Start) -> None:
        assert start.frame is not None
        self._at_hand[start.stream] = self._past.pop(start.frame, {})
        self._planner.begins(start)

    def plan(self, step: Step) -> Decision:
        return replace(self._planner.plan(step), past=self._at_hand[step.stream].get(step.node))

    def forget(self, stream: str) -> None:
        self._at_hand.pop(stream, None)
        self._planner.forget(stream)


def _goes_on(result: Result | None) -> bool:
    """Whether the frame was planned with one before it."""
    windows = () if result is None else [each.window for each in result.plan.nodes.values()]
    return result is not None and any(window is not None and window < result.seq for window in windows)


def _past(node: str, place: int, batch: Sequence[Result]) -> Past:
    result = batch[place]
    decision = result.plan.nodes[node]
    alone = Past(decision.skipped is True, detail=decision.detail)
    if decision.window != result.seq:
        return alone
    of = [each for each in batch[place:] if node in each.plan.nodes and each.plan.nodes[node].window == result.seq]
    detected = [each.plan.nodes[node].skipped is False for each in of]
    return alone._replace(window=detected, until_s=of[-1].frame.media_time_s) if detected[-1] else alone


def _bytes(frame: RecordedFrame) -> int:
    """Bytes of the frame once it is decoded, and of its file."""
    info = frame.result.frame if frame.result is not None else None
    return len(frame.jpeg) + (3 * info.width * info.height if info is not None else 0)
