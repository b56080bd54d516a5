"""The history of specialization on one stream and node: phases, dominant classes, sources of answers.

Pure, and bounded however long the stream: the oldest spans are forgotten, and the statistics, which are sums, lose
nothing by that.
"""

from __future__ import annotations

from collections.abc import Sequence

from specialization.timeline_state import AnswerCounts, PhaseSpan, Statistics, TimelineState
from specialization.weg.state import PhaseName

MOST_SPANS = 2000
RESTART_S = 10.0
"""A clock that goes back by more has begun anew; what goes back by less came late."""


class Timeline:
    """Records answers and changes in the order they happen; times are media seconds of the stream."""

    def __init__(self, state: TimelineState | None = None) -> None:
        """``state``: to go on with."""
        self.state = state or TimelineState()

    def counted(
        self, at_s: float, *, oracle: int = 0, head: int = 0, fallback: int = 0, reused: int = 0, audits: int = 0
    ) -> None:
        """Count answers by source; ``fallback``: a head said "other", the oracle answered. Audits are no answers."""
        self._move(at_s)
        self.state.total.add(AnswerCounts(oracle, head, fallback, reused, audits))

    def entered(self, at_s: float, phase: PhaseName, classes: Sequence[str] = (), window: int = 0) -> None:
        """Record a change of phase or of dominant classes; ``window``: the answers that spoke for it."""
        self._move(at_s)
        last, kept = self.state.spans[-1] if self.state.spans else None, tuple(classes)
        if last and (last.phase, last.classes) == (phase, kept):
            return
        if phase == "specialised":
            self._specialised(len(kept), window, again=last is not None and last.phase == phase)
        self._append(PhaseSpan(self.state.now_s, self.state.now_s, phase, kept))

    def statistics(self) -> Statistics:
        """Totals so far."""
        state, total = self.state, self.state.total
        asked = total.answers - total.reused
        return Statistics(
            counts=AnswerCounts(total.oracle, total.head, total.fallback, total.reused, total.audits),
            special_rate=total.cascaded / asked if asked else 0.0,
            cascade_rate=_ratio(total.fallback, total.cascaded),
            transitions=state.transitions,
            mean_dominant=_ratio(state.dominant, state.heads),
            mean_window=_ratio(state.windows, state.heads),
        )

    def _move(self, at_s: float) -> None:
        state = self.state
        if at_s + state.ahead_s < state.now_s - RESTART_S:
            state.ahead_s = state.now_s - at_s
        state.now_s = max(state.now_s, at_s + state.ahead_s)
        if state.spans:
            state.spans[-1].to_s = state.now_s

    def _specialised(self, classes: int, window: int, again: bool) -> None:
        state = self.state
        state.transitions += not again
        state.heads += 1
        state.dominant += classes
        state.windows += window

    def _append(self, span: PhaseSpan) -> None:
        spans = self.state.spans
        if spans and spans[-1].from_s == span.from_s:
            spans.pop()  # what lasted no time is not seen
        if not spans or (spans[-1].phase, spans[-1].classes) != (span.phase, span.classes):
            spans.append(span)
        surplus = max(0, len(spans) - MOST_SPANS)
        del spans[:surplus]
        self.state.forgotten += surplus


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
