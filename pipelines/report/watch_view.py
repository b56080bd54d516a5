"""The lines of `sluice watch`: one for a result, runs of dropped frames as one, a summary now and then. Pure.

Times are seconds on the monotonic clock, given by the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from operators.wire.schema import Object, Result
from pipelines.report.minute import Totals

COLOURS = {"analysed": None, "dropped": "yellow", "failed": "red"}
HELD_S = 2.0
"""Dropped frames of a stream are counted together for so long before their line comes."""
FIRST_SUMMARY_S = 10.0
SUMMARY_S = 60.0
MAX_RUNS = 256
"""Streams with dropped frames whose line has not come yet."""
SHOWN_OBJECTS = 6

TITLES = f"CAPTURED UTC  {'STREAM':20}  {'SEQ':>7}  {'LATENCY':>9}  {'OUTCOME':8}  OBJECTS"


@dataclass(frozen=True, slots=True)
class ColouredLine:
    text: str
    colour: str | None = None


@dataclass(slots=True)
class _Run:
    """Frames of one stream dropped one after the other."""

    since_s: float
    first: Result
    last: Result
    causes: Counter[str] = field(default_factory=Counter)

    def line(self) -> ColouredLine:
        number = self.causes.total()
        if number == 1:
            return ColouredLine(result_line(self.last), COLOURS["dropped"])
        causes = ", ".join(f"{cause} {n}" if len(self.causes) > 1 else cause for cause, n in self.causes.most_common(3))
        text = f"{number} frames dropped ({causes}), from seq {self.first.seq} on"
        return ColouredLine(result_line(self.last, text), COLOURS["dropped"])


class WatchView:
    """Makes lines of results; ``flush`` is to be called every second or so, and at the end with ``all_``."""

    def __init__(self, now_s: float) -> None:
        self._runs: dict[str, _Run] = {}
        self._from_s, self._next_s = now_s, now_s + FIRST_SUMMARY_S
        self._outcomes: Counter[str] = Counter()
        self._drops: Counter[str] = Counter()
        self._newest: datetime | None = None
        self._query: str | None = None
        """The query of the first result; of others the name is shown."""

    def add(self, result: Result, now_s: float) -> Iterator[ColouredLine]:
        """The lines that a result causes; dropped ones wait for their fellows."""
        self._count(result)
        self._query = self._query or result.query
        if result.query != self._query:
            result = replace(result, stream=f"{result.stream} · {result.query}")
        run = self._runs.get(result.stream)
        if result.outcome == "dropped":
            if run is None:
                if len(self._runs) >= MAX_RUNS:
                    yield from self.flush(now_s, all_=True)
                run = self._runs[result.stream] = _Run(now_s, result, result)
            run.last = result
            run.causes[result.cause or "dropped"] += 1
            return
        if run is not None:
            yield self._runs.pop(result.stream).line()
        yield ColouredLine(result_line(result), COLOURS[result.outcome])

    def flush(self, now_s: float, all_: bool = False) -> Iterator[ColouredLine]:
        """The lines of dropped frames that have waited long enough."""
        for stream, run in list(self._runs.items()):
            if all_ or now_s - run.since_s >= HELD_S:
                del self._runs[stream]
                yield run.line()

    def summary(self, now_s: float, now: datetime, waiting: int) -> ColouredLine | None:
        """How the last minute went, once it is over; ``waiting`` is how many results there are to be read still."""
        if now_s < self._next_s:
            return None
        totals = Totals(self._outcomes, self._drops)
        number, span_s = self._outcomes.total(), now_s - self._from_s
        self._outcomes, self._drops = Counter(), Counter()
        self._from_s, self._next_s = now_s, now_s + SUMMARY_S
        if not number:
            return None
        return ColouredLine(f"── last {span_s:.0f} s: {totals.counts}{self._age(now)}{_behind(waiting)}", "cyan")

    def _count(self, result: Result) -> None:
        self._outcomes[result.outcome] += 1
        if result.outcome == "dropped":
            self._drops[result.cause or "dropped"] += 1
        captured = result.frame.captured_at
        self._newest = captured if self._newest is None else max(self._newest, captured)

    def _age(self, now: datetime) -> str:
        """The results' age for a consumer: how far they lie behind the world, where both clocks agree."""
        if self._newest is None:
            return ""
        age_s = (now - self._newest).total_seconds()
        return f"; the newest frame is {age_s:.1f} s old" if age_s >= 0 else "; the clock of capture runs ahead"


def _behind(waiting: int) -> str:
    return f"; {waiting} results wait to be shown" if waiting else ""


def result_line(result: Result, instead: str | None = None) -> str:
    """Columns under ``TITLES``: of a frame that was not analysed the cause stands in place of its objects.

    ``instead`` stands there where it is given.
    """
    captured = result.frame.captured_at.strftime("%H:%M:%S.%f")[:-3]
    late = "?" if not result.plan.latency_known else "" if result.plan.deadline_met else "!"
    latency = f"{result.plan.latency_ms:.0f} ms{late:1}"
    found = objects_text(result.objects) if result.outcome == "analysed" else result.cause or ""
    what = found if instead is None else instead
    return f"{captured:12}  {result.stream:20}  {result.seq:7d}  {latency:>9}  {result.outcome:8}  {what}".rstrip()


def objects_text(objects: list[Object]) -> str:
    """The objects in short, such as ``truck#12001 0.93 oracle``; ``-`` where there are none."""
    if not objects:
        return "-"
    more = len(objects) - SHOWN_OBJECTS
    shown = [_object_text(item) for item in objects[:SHOWN_OBJECTS]]
    return ", ".join([*shown, f"{more} more"] if more > 0 else shown)


def _object_text(item: Object) -> str:
    name = item.label if item.track_id is None else f"{item.label}#{item.track_id}"
    source = f" {item.attributes[-1].provenance}" if item.attributes else ""
    return f"{name} {item.confidence:.2f}{source}"
