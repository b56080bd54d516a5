"""The figures of one stream over the last minutes, from its results. Pure: the time is an argument; bounded."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from operators.wire.schema import Result
from pipelines.observe.live.sightings import Sightings
from pipelines.observe.live.words import who
from pipelines.observe.metrics.causes import cause_word

SLOT_S = 5.0
SLOTS = 60
"""The timeline: five minutes in slots of five seconds."""
MINUTE_SLOTS = 12
SAMPLES = 1024
"""Latencies that are kept."""
RATE_S = 10.0
"""Frames a second are those of so many seconds."""
LOOK_EVERY_S = 0.2
"""Tracks are looked at five times a second: what comes and goes faster than that makes no event."""
MOST_OBJECTS = 200
"""Objects of a frame that are counted and shown; the rest only adds to their number."""


@dataclass(slots=True)
class Slot:
    """The figures of five seconds."""

    number: int
    analysed: int = 0
    late: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    """Frames dropped or failed, by cause."""
    answers: Counter[str] = field(default_factory=Counter)
    """Objects by who answered."""
    models: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """Answers by the network that they come from: its name and variant."""
    variants: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Frames by node and the model that was chosen for it, where there was a choice."""


@dataclass(frozen=True, slots=True)
class FigureSample:
    at_s: float
    latency_ms: float | None


class StreamFigures:
    """Takes every result once, in order."""

    def __init__(self, now_s: float) -> None:
        self._since_s = now_s
        self.slots: deque[Slot] = deque(maxlen=SLOTS)
        self.sightings = Sightings()
        self.latest: Result | None = None
        """The last analysed frame."""
        self.seen_s = now_s
        """When the last result came."""
        self._samples: deque[FigureSample] = deque(maxlen=SAMPLES)
        self._look_s = now_s

    def add(self, result: Result, now_s: float) -> None:
        """Count a result that came now."""
        self.seen_s, slot = now_s, self._slot(now_s)
        if result.outcome != "analysed":
            slot.lost[cause_word(result.outcome, result.cause)] += 1
            return
        self.latest, plan = result, result.plan
        slot.analysed += 1
        slot.late += plan.latency_known and not plan.deadline_met
        self._samples.append(FigureSample(now_s, plan.latency_ms if plan.latency_known else None))
        answers, models = slot.answers, slot.models
        for found in result.objects[:MOST_OBJECTS]:
            answers[who(found)] += 1
            if found.attributes and len(models) < SLOTS:
                model = found.attributes[-1].model
                models[model.name, model.variant] += 1
        for node, decision in plan.nodes.items():
            if decision.objects is not None and len(slot.variants) < SLOTS:
                slot.variants[node, decision.variant] += 1
        if now_s >= self._look_s:
            self._look_s = now_s + LOOK_EVERY_S
            self.sightings.see(result)

    def fps(self, now_s: float) -> float:
        """Analysed frames a second."""
        span_s = min(RATE_S, max(now_s - self._since_s, 1.0))
        times = [sample.at_s for sample in self._samples if now_s - sample.at_s <= span_s]
        if len(times) == SAMPLES:  # older ones are gone
            span_s = max(now_s - times[0], 0.1)
        return round(len(times) / span_s, 1)

    def latency_ms(self, now_s: float) -> float | None:
        """The latency that 95 % of the frames of the last minute did not exceed; None where that is not known."""
        known = sorted(
            each.latency_ms
            for each in self._samples
            if each.latency_ms is not None and now_s - each.at_s <= MINUTE_SLOTS * SLOT_S
        )
        return round(known[min(len(known) - 1, int(0.95 * len(known)))], 1) if known else None

    def recent(self, now_s: float, slots: int = MINUTE_SLOTS) -> list[Slot]:
        """The last slots, the oldest first; empty ones are left out."""
        return [slot for slot in self.slots if slot.number > _number(now_s) - slots]

    def _slot(self, now_s: float) -> Slot:
        number = _number(now_s)
        if not self.slots or self.slots[-1].number < number:
            self.slots.append(Slot(number))
        return self.slots[-1]


def _number(now_s: float) -> int:
    return int(now_s // SLOT_S)
