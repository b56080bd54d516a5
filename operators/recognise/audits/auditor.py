"""The audits of one node: of tracked objects, or of looks where a node answers for looks."""

from __future__ import annotations

from collections.abc import Sequence

from operators.background import Backlog
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.account.books import Books
from operators.recognise.audits.bench import Bench, OnOutcome, Turns
from operators.recognise.audits.look_audits import LookAudits
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.open_trials import OpenTrials
from operators.recognise.audits.second_thoughts import SecondThoughts
from operators.recognise.audits.shadow import Shadow
from operators.recognise.audits.track_audits import TrackAudits
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.objects.objects import Objects
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.wire.schema import FrameId


class Auditor:
    """Says at which objects the other network looks, has it look, and reports the outcomes."""

    def __init__(
        self, node: str, oracle: Oracle, on_outcome: OnOutcome, books: Books, objects: Objects | None = None
    ) -> None:
        """``objects``: the node answers for tracks."""
        backlog = Backlog(oracle.look, "the oracle cannot audit")
        bench = Bench(node, oracle, backlog, Shadow(books), on_outcome, books)
        self._bench, self._objects = bench, objects
        self._tracks = TrackAudits(bench, objects) if objects is not None else None
        self._kinds = self._tracks or LookAudits(bench)

    def begin(self, stream: NodeStream, frame: Frame) -> None:
        """Take a frame before it is looked at; a new run of the source has other tracks."""
        if self._objects is None:
            return
        if stream.run != frame.run:
            self.end(stream)
            stream.run, stream.trials = frame.run, OpenTrials()
            stream.second_thoughts = SecondThoughts(self._objects.words)
        stream.trials.frame(frame.media_time_s)

    def account(self, stream: NodeStream, frame: Frame, regions: Sequence[Region], turns: Turns, call: Call) -> None:
        """Count who looked at the regions of a frame, and draw some of the objects."""
        self._kinds.account(stream, frame, regions, turns, call)

    def watch(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], links: Sequence[Shortcut], call: Call
    ) -> None:
        """Have the other network look at objects of the frame, whether or not the answering one has looked."""
        if self._tracks is not None:
            self._tracks.watch(stream, frame, regions, links, call)

    def concluded(self, stream: NodeStream, answer: ObjectAnswer) -> None:
        if self._tracks is not None:
            self._tracks.concluded(stream, answer)

    def end(self, stream: NodeStream) -> None:
        """Note that a run is over: no more looks will be begun, and its tracks are forgotten."""
        if self._tracks is not None:
            self._tracks.end(stream)
        stream.run, stream.trials, stream.second_thoughts = None, OpenTrials(), SecondThoughts(2)

    def published(self, frame: FrameId) -> None:
        """Begin the audits of a frame: its result has been published."""
        self._bench.backlog.published(frame)
        self._bench.shadow.published(frame)

    def dropped(self, frame: FrameId) -> None:
        """Audit no answers of a frame that was dropped or failed."""
        self._bench.backlog.dropped(frame)
        self._bench.shadow.dropped(frame)

    def forget(self, stream: str) -> None:
        """Audit no answers of a stream that are not published yet."""
        self._bench.backlog.forget(stream)
        self._bench.shadow.forget(stream)

    async def close(self, within_s: float) -> None:
        """Finish waiting looks within the time, and give up the rest."""
        await self._bench.shadow.close(within_s)
        await self._bench.backlog.close(within_s)
