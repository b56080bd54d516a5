"""The detector of a node with ``when: needed``: runs where it must, else the regions it found are moved.

Where frames wait behind the one at hand it looks ahead; else each is decided about as it comes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from cache_adapt.audit.coin import coin
from operators.audits.streams import Streams
from operators.base import Call, Handles, NodeAnswer, Operator, ask, make_ready
from operators.decision import Decision
from operators.detect.detail.stream import StreamDetail
from operators.detect.needed.account import Account, SkipTally
from operators.detect.needed.ahead import LookAhead
from operators.detect.needed.audits import Before, FrameAudit, Published, SkipAudits
from operators.detect.needed.carried import aged
from operators.detect.needed.needed_stream import NO_RUN, NeededStream, SkipTerms, node_plan
from operators.detect.needed.pace import PROBATION_RATE, SkipPace, from_json, to_json
from operators.detect.needed.policy import AHEAD, Reason, in_words
from operators.detect.needed.stream import StreamView
from operators.detect.needed.window import Planned
from operators.frames.frame import Frame, Region
from operators.wire.schema import AuditedKind, FrameId, NodePlan
from serving.common.threads import in_thread

log = logging.getLogger(__name__)

KIND: AuditedKind = "propagated"


class _Looked(NamedTuple):
    """The result of a look at a frame."""

    planned: Planned | None
    """None: the detector has to run on the frame."""
    answer: NodeAnswer = NodeAnswer()
    """The detector's answer, where frames ahead were planned with it."""
    reason: str = ""


class DetectWhenNeeded:
    """Operator around a detector of whole frames."""

    def __init__(
        self, node: str, detector: Operator, model: str, terms: SkipTerms, reference: Operator | None = None
    ) -> None:
        """``reference``: runs the ``model`` that audits ask, where the detector itself may run another one."""
        self.node = node
        self._detector, self._model, self._terms = detector, model, terms
        self._reference = reference or detector
        self._handles = self._reference if isinstance(self._reference, Handles) else None
        self._audits = SkipAudits(node, self._reference, model, terms.sure, terms.observer)
        self._ahead = LookAhead(detector, terms.sure)
        self._streams = Streams(self._fresh)
        self._restored: dict[str, SkipPace] = {}
        """The paces of streams whose first frame is still to come."""

    async def prepare(self) -> None:
        await make_ready(self._detector)

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        stream = self._stream(frame)
        planned = stream.view.planned.pop(frame.seq, None)
        if planned is None and call.decision.past is None:
            await self._review(stream, frame)
        call = replace(call, detail=stream.shown(call.decision.past))
        declined = self._declined(stream, call.decision)
        looked = not declined and (call.decision.past is not None or call.decision.allows(KIND))
        seen = _Looked(planned if looked or (planned is not None and planned.detected) else None)
        if looked and planned is None:
            seen = await self._look(stream, frame, call)
        stream.pace.frame()
        planned, answer = seen.planned, seen.answer
        if planned is None:
            answer = await self._ask(stream, frame, regions, call)
            planned = Planned(list(answer.regions), True)
            if looked:
                await in_thread(partial(_timed, stream.tally, partial(stream.view.found, planned.regions)))
        if planned.detected:
            stream.found_with = call.detail
        published = self._detected(stream, frame, planned, _ran(answer.decision or call.decision))
        return replace(
            answer,
            regions=published,
            declined={**answer.declined, **declined},
            skipped=not planned.detected,
            window=planned.window,
            detail=call.detail,
            reason=seen.reason if planned.window is None else AHEAD[planned.detected],
        )

    def _detected(self, stream: NeededStream, frame: Frame, planned: Planned, ran: str | None) -> list[Region]:
        """Note what became of a frame, on which the model ``ran``; returns the regions to publish."""
        if not planned.detected:
            return self._skip(stream, frame, planned.regions)
        stream.tally.detected += 1
        stream.ran = ran or stream.ran
        self._keep(stream, frame, planned.regions if ran == self._model else None)
        return planned.regions

    def published(self, frame: FrameId) -> None:
        self._audits.published(frame)

    def dropped(self, frame: FrameId) -> None:
        self._audits.dropped(frame)

    def forget(self, stream: str) -> None:
        """Drop a stream; its figures stay for the report."""
        self._audits.forget(stream)
        self._restored.pop(stream, None)
        if (known := self._streams.here(stream)) is not None:
            known.before = None
        self._streams.leave(stream)
        self._detector.forget(stream)

    async def close(self, within_s: float) -> None:
        """Finish waiting audits within the time, and give up the rest."""
        await self._audits.close(within_s)
        for stream in self._streams.known(gone=True).values():
            if stream.detail is not None:
                await stream.detail.close(within_s)

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        """How each stream stands; with ``gone`` also those that ended or moved away."""
        return {
            name: [node_plan(self.node, self._model, self._terms.accuracy, stream)]
            for name, stream in self._streams.known(gone).items()
        }

    def snapshot(self, stream: str) -> bytes | None:
        known = self._streams.here(stream)
        return None if known is None else to_json(known.pace.learnt, self._model, self._terms.accuracy)

    def restore(self, stream: str, data: bytes) -> None:
        learnt = from_json(data, self._model, self._terms.accuracy, f"stream {stream}, node {self.node}")
        if learnt is not None:
            self._restored[stream] = SkipPace.after(1 - self._terms.accuracy, learnt)

    def _stream(self, frame: Frame) -> NeededStream:
        known = self._streams.enter(frame.stream)
        if known.view.run != frame.run:
            known.view, known.before = StreamView(frame.run), None
        return known

    def _fresh(self, stream: str) -> NeededStream:
        pace, tally = self._restored.pop(stream, None) or SkipPace(1 - self._terms.accuracy), SkipTally()
        known, terms = NeededStream(pace, StreamView(NO_RUN), tally, Account(tally)), self._terms
        if terms.detail is not None:
            known.detail = StreamDetail(terms.detail, terms.engine, self._model)
        return known

    async def _review(self, stream: NeededStream, frame: Frame) -> None:
        """Find out whether looking has paid so far; after a rest the stream is looked at as if it were new."""
        account, detail = stream.account, stream.detail
        if account.frame(self._detection_s(stream)):
            where = f"stream {frame.stream}, node {self.node}"
            log.info("%s: the detector runs on every frame: %s", where, account.why_not())
            stream.view = stream.view.anew()
        if detail is not None:
            detail.used(frame.stream, account.latest, account.detection_s)
            await detail.begin(frame)

    async def _ask(self, stream: NeededStream, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        """Run the detector on a frame whose turn it is."""
        if stream.detail is None or call.unhurried or call.decision.past is not None:
            return await ask(self._detector, frame, regions, call)
        with stream.detail.timed(frame.stream, call.decision.budget_ms):
            return await ask(self._detector, frame, regions, call)

    def _declined(self, stream: NeededStream, decision: Decision) -> Mapping[str, str]:
        """Why no frame is skipped though the decision allows it."""
        if decision.past is not None or not decision.allows(KIND) or (why := stream.account.why_not()) is None:
            return {}
        return {KIND: why}

    async def _look(self, stream: NeededStream, frame: Frame, call: Call) -> _Looked:
        """The regions to publish of a frame, if they are known without that the detector runs on it now."""
        view, every, past = stream.view, stream.pace.every, call.decision.past
        patient = call.ahead is not None and (past is None or bool(past.window))
        why = await in_thread(partial(_timed, stream.tally, partial(view.look, frame, every, patient, past)))
        if patient and view.undecided and why in ("motion", "pace"):
            answer = await self._ahead.plan(stream, frame, call)
            if answer is not None:
                return _Looked(view.planned.pop(frame.seq), answer)
            why = await in_thread(partial(_timed, stream.tally, partial(view.look_on, every)))
        moved = [aged(region, view.when.age_s) for region in view.regions] if why is None else []
        return _Looked(Planned(moved, False) if why is None else None, reason=in_words(why, every))

    def _skip(self, stream: NeededStream, frame: Frame, published: list[Region]) -> list[Region]:
        stream.tally.skipped += 1
        before, pace = stream.before, stream.pace
        comparable = before is not None and before.pixels.shape == frame.pixels.shape
        weight = pace.skipped(self._coin(frame, frame.seq), self._audits.has_room)
        if weight is not None and before is not None and comparable:
            tell = partial(_tell, stream, pace.every, weight)
            shown = Published(published, stream.found_with, stream.to_compare())
            self._audits.audit(before, frame, shown, tell)
        self._keep(stream, frame, None)
        return published

    def _keep(self, stream: NeededStream, frame: Frame, found: Sequence[Region] | None) -> None:
        """Keep the frame if the next one, should it be skipped, would be audited; ``found``: None if it was skipped."""
        audited = self._coin(frame, frame.seq + 1) < PROBATION_RATE
        stream.before = Before(frame.pixels, found) if audited else None

    def _coin(self, frame: Frame, seq: int) -> float:
        return coin(self.node, KIND, frame.stream, frame.run, seq)

    def _detection_s(self, stream: NeededStream) -> float | None:
        """Seconds of a detection, with the work around the network."""
        detail, engine = stream.detail, self._terms.engine
        network_s = engine.processor_s(stream.ran or self._model) if detail is None else detail.network_s
        if network_s is None:
            return None
        return network_s + (0.0 if self._handles is None else self._handles.handling_s)


def _timed(tally: SkipTally, look: Callable[[], Reason | None]) -> Reason | None:
    started_s = time.thread_time()
    why = look()
    tally.looked(time.thread_time() - started_s)
    return why


def _tell(stream: NeededStream, every: int, weight: float, audited: FrameAudit) -> None:
    stream.audited(audited)
    stream.pace.tell(every, weight, audited.deficit)


def _ran(decision: Decision) -> str | None:
    """The model that ran by a decision; None where it chose none, since the frame was detected on ahead of its turn."""
    return None if decision.ladder and decision.objects is None else decision.variant
