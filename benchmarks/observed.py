"""What metrics and the live page cost in processor time: a run that nobody observes, that is served, that is watched.

Four files play at 25 frames a second each, over and over, through detector, tracker and recogniser in one process.
Every few seconds, in an order that is drawn anew, the same run goes on ``plain`` (nobody hears anything), ``served``
(metrics and page are kept up to date, and nobody looks) or ``watched`` (one reader of the wall of all four streams). A
turn is as long as the clip, so that all see the same pictures. What counts is the processor time of the whole process,
the reader's own left out, for each analysed frame. Beside that difference, which other work on the machine blurs, the
time of the threads is counted wherever they work for metrics and page: hooks, events, pictures, the server.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Outcome, run
from benchmarks.observed_parts.play import STATES, Turn, play

ROUNDS, QUICK_ROUNDS = 30, 2
RESAMPLES = 2000


def measure(quick: bool) -> Outcome:
    """Rows: one per turn."""
    with tempfile.TemporaryDirectory(prefix="sluice-observed-") as scratch:
        turns = play(Path(scratch), QUICK_ROUNDS if quick else ROUNDS)
    costs = {state: extra(turns, state) for state in STATES[1:]}
    for state, (low, middle, high) in costs.items():
        print(f"{state:8} {middle:+.2%} of processor time ({low:+.2%} to {high:+.2%} at 95 %)")
    headline: dict[str, Any] = {f"{state}_extra": round(middle, 4) for state, (_, middle, _) in costs.items()}
    shares = {state: counted(turns, state) for state in STATES[1:]}
    for state, share in shares.items():
        print(f"{state:8} {share:.2%} of processor time, as counted")
    headline |= {f"{state}_counted": round(share, 4) for state, share in shares.items()}
    headline |= {f"{state}_extra_at_most": round(high, 4) for state, (_, _, high) in costs.items()}
    headline["frames_per_s"] = round(sum(turn.frames for turn in turns) / sum(turn.wall_s for turn in turns), 1)
    return Outcome([turn.row() for turn in turns], headline, partial(_draw, turns))


def extra(turns: Sequence[Turn], state: str) -> tuple[float, float, float]:
    """Processor time for a frame over that of a plain run, less 1: lower bound, figure, upper bound.

    The mean over the rounds' differences; the bounds by drawing rounds anew (bootstrap, 95 %).
    """
    rounds: dict[int, dict[str, Turn]] = {}
    for turn in turns:
        rounds.setdefault(turn.round, {})[turn.state] = turn
    plain = [each["plain"].ms_per_frame for each in rounds.values()]
    more = [each[state].ms_per_frame - each["plain"].ms_per_frame for each in rounds.values()]
    rng, whole = random.Random(0), statistics.fmean(plain)
    drawn = sorted(statistics.fmean(rng.choices(more, k=len(more))) / whole for _ in range(RESAMPLES))
    return drawn[int(0.025 * RESAMPLES)], statistics.fmean(more) / whole, drawn[int(0.975 * RESAMPLES) - 1]


def counted(turns: Sequence[Turn], state: str) -> float:
    """Share of the processor time that was counted for observing."""
    seen = [turn for turn in turns if turn.state == state]
    return sum(turn.observing_s for turn in seen) / sum(turn.processor_s for turn in seen)


def _draw(turns: Sequence[Turn], figure: Any) -> None:
    axes = figure.subplots()
    axes.boxplot([[turn.ms_per_frame for turn in turns if turn.state == state] for state in STATES])
    axes.set_xticks(range(1, len(STATES) + 1), STATES)
    axes.set_ylabel("processor time for a frame, ms")
    axes.set_ylim(bottom=0)


if __name__ == "__main__":
    run("observed", measure, __doc__ or "")
