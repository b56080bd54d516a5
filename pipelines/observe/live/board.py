"""All streams, as the page shows them: an observer that keeps a few figures of each, and their latest plans."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from operators.observer import Observer
from operators.wire.schema import BoundingBox, Counts, Event, Result, StreamPlan, StreamStatus
from operators.zones.layout import NOTHING
from pipelines.observe.live.cards import GONE_S, source
from pipelines.observe.live.sightings import ListedEvent
from pipelines.observe.live.stream_figures import StreamFigures
from pipelines.observe.live.views import detail, drawn, tile
from pipelines.observe.live.words import SILENT_S

if TYPE_CHECKING:
    from serving.budgets.terms import BudgetReport

MOST_STREAMS = 256
MORE_S = 60.0
"""For so long it is said that there are more."""


class Board(Observer):
    """Keeps some streams, of more than that those that came first as long as they are heard of; hooks are called here,
    messages of topics come as what they hold.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, most_streams: int = MOST_STREAMS) -> None:
        self._now, self._most = now, most_streams
        self.unhurried: Collection[str] = ()
        """Streams whose frames wait for the analysis, so that none is late."""
        self.layout = NOTHING
        """Zones and lines of the query, where it is known."""
        self.loop: asyncio.AbstractEventLoop | None = None
        """Where the board lives, once there is a page; states come from threads."""
        self._figures: OrderedDict[str, StreamFigures] = OrderedDict()
        self._refused_s = -MORE_S
        """When there was no place for a stream last."""
        self._states: dict[str, StreamStatus] = {}
        self._plans: dict[tuple[str, str], StreamPlan] = {}
        """By stream and query."""
        self._budgets: dict[str, str] = {}
        """A line about each, by holder."""

    @property
    def streams(self) -> int:
        return len(self._figures)

    def came(self, result: Result) -> None:
        if (figures := self._of(result.stream)) is not None:
            figures.add(result, self._now())

    frame_analysed = frame_dropped = frame_failed = came

    def stream_state_changed(self, status: StreamStatus) -> None:
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.in_state, status)

    def event_found(self, event: Event | Counts) -> None:
        if isinstance(event, Event) and event.stream in self._figures:
            self._figures[event.stream].sightings.passed(event)

    def budget_stands(self, report: BudgetReport) -> None:
        self._budgets[report.holder] = str(report)

    def in_state(self, status: StreamStatus) -> None:
        if self._of(status.stream) is not None:
            self._states[status.stream] = status

    def planned(self, plans: Iterable[StreamPlan]) -> None:
        """How streams stand with their shortcuts; they may come before the streams themselves."""
        for plan in plans:
            self._plans.pop((plan.stream, plan.query), None)
            self._plans[plan.stream, plan.query] = plan
        while len(self._plans) > self._most:
            del self._plans[next(iter(self._plans))]

    def wall(self) -> dict[str, Any]:
        now_s = self._now()
        heard = {stream: now_s - figures.seen_s <= GONE_S for stream, figures in self._figures.items()}
        sources = {source(stream) for stream, lately in heard.items() if lately}
        # Where one query goes on, the card of another that has gone would stand for the stream.
        shown = [stream for stream, lately in sorted(heard.items()) if lately or source(stream) not in sources]
        tiles = [self._tile(stream, now_s) for stream in shown]
        more = now_s - self._refused_s < MORE_S
        return {"tiles": tiles, "more": more, "budgets": list(self._budgets.values())}

    def stream(self, stream: str) -> dict[str, Any] | None:
        """One stream in full; None where it is not known."""
        figures, now_s = self._figures.get(stream), self._now()
        if figures is None:
            return None
        plan = self._plans.get((source(stream), figures.latest.query)) if figures.latest else None
        return {
            **self._tile(stream, now_s),
            **detail(figures, plan, now_s),
            **drawn(self.layout.of(source(stream))),
        }

    def without_thumbnail(self, result: Result) -> list[tuple[ListedEvent, BoundingBox]]:
        """Events of the stream that have no picture yet and whose object is in this frame, and where it is."""
        figures = self._figures.get(result.stream)
        return figures.sightings.without_thumbnail(result) if figures else []

    def thumbnail(self, stream: str, number: int) -> bytes | None:
        """The picture of an event; None where there is none."""
        figures = self._figures.get(stream)
        return figures.sightings.thumbnail(number) if figures else None

    def _tile(self, stream: str, now_s: float) -> dict[str, Any]:
        state = self._states.get(stream) or self._states.get(source(stream))
        shown = tile(stream, self._figures[stream], state, now_s)
        return {**shown, "slo_ms": None, "late": None} if stream in self.unhurried else shown

    def _of(self, stream: str) -> StreamFigures | None:
        """The figures of a stream; None where all places are those of streams whose results come."""
        if stream not in self._figures:
            now_s = self._now()
            if len(self._figures) >= self._most:
                silent, figures = next(iter(self._figures.items()))
                if figures.slots and now_s - figures.seen_s < SILENT_S:
                    self._refused_s = now_s
                    return None
                del self._figures[silent]
                self._states.pop(silent, None)
            self._figures[stream] = StreamFigures(now_s)
        self._figures.move_to_end(stream)
        return self._figures[stream]
