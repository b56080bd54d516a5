"""How far a job is, and what it says at its end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from operators.wire.schema import JobOrder, Result

MOST_NAMED = 20
"""Recordings that could not be read, or whose frames failed, that are named."""


@dataclass
class JobProgress:
    """Counts what becomes of recordings and frames."""

    recordings: int
    done: int = 0
    """Recordings that have ended, those that could not be read among them."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """New results by outcome."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why recordings could not be read to their end, by their addresses."""
    causes: Counter[str] = field(default_factory=Counter)
    """Why frames were not analysed."""
    _lengths_s: dict[str, float] = field(default_factory=dict)
    _reached_s: dict[str, float] = field(default_factory=dict)
    _at_first: float | None = None

    def begun(self, stream: str, length_s: float | None, reached_s: float) -> None:
        """A recording is opened; ``length_s``: as far as it says, ``reached_s``: media time that is durable."""
        self._lengths_s[stream] = length_s or 0.0
        self._reached_s[stream] = reached_s

    def took(self, result: Result) -> None:
        self.outcomes[result.outcome] += 1
        if result.cause is not None and (result.cause in self.causes or len(self.causes) < MOST_NAMED):
            self.causes[result.cause] += 1
        self._reached_s[result.stream] = result.frame.media_time_s

    def ended(self, stream: str) -> None:
        """A recording has ended, or cannot be read on."""
        self.done += 1
        self._lengths_s.pop(stream, None)
        self._reached_s.pop(stream, None)

    @property
    def share(self) -> float:
        """The share of the work that is done, 0..1; recordings count alike."""
        under_way = sum(_part(self._reached_s[each], length_s) for each, length_s in self._lengths_s.items())
        return min(1.0, (self.done + under_way) / max(1, self.recordings))

    def left_s(self, passed_s: float) -> float | None:
        """How long it will take still, after so many seconds; None while that is not known."""
        if self._at_first is None:
            self._at_first = self.share
        gained = self.share - self._at_first
        return passed_s * (1 - self.share) / gained if gained > 0 else None

    def step(self, passed_s: float) -> str:
        frames, left_s = self.outcomes.total(), self.left_s(passed_s)
        rate = f"{frames / passed_s:.0f} frames/s" if passed_s > 0 else "starting"
        left = "" if left_s is None else f", {duration(left_s)} left"
        return f"{self.done} of {self.recordings} recordings, {rate}{left}"


def _part(reached_s: float, length_s: float) -> float:
    return min(1.0, reached_s / length_s) if length_s > 0 else 0.0


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(59.6), duration(125), duration(7325)
    ('1:00', '2:05', '2:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def closing(progress: JobProgress, place: str, passed_s: float) -> list[str]:
    """The lines of the closing report."""
    frames, analysed = progress.outcomes.total(), progress.outcomes["analysed"]
    lines = [
        f"{progress.done} of {progress.recordings} recordings, {frames} new results in {duration(passed_s)}: {place}"
    ]
    if frames - analysed:
        lines.append(f"{frames - analysed} frames were not analysed: {_listed(progress.causes)}")
    lines += [f"not read to its end: {why}" for why in list(progress.unreadable.values())[:MOST_NAMED]]
    if len(progress.unreadable) > MOST_NAMED:
        lines.append(f"and {len(progress.unreadable) - MOST_NAMED} more")
    return lines


def _listed(causes: Mapping[str, int]) -> str:
    return "; ".join(f"{cause} ({count})" for cause, count in causes.items()) or "for unknown causes"


@dataclass
class JobStanding:
    """How far a job at workers is, by its messages and what workers have acknowledged of them."""

    name: str
    known: bool = False
    _chunks: dict[tuple[int, str, int], tuple[datetime, bool]] = field(default_factory=dict)
    """By partition, stream and number: when it was submitted, and whether it is done."""

    def see(self, order: JobOrder, partition: int, done: bool) -> None:
        """Take the next message about the job on a partition; those of several come in any order."""
        self.known = True
        if order.chunk is None:  # workers acknowledge what was submitted before it, whether it was done or not
            self._chunks = {key: each for key, each in self._chunks.items() if key[0] != partition}
        else:
            self._chunks[partition, order.chunk.stream, order.chunk.number] = order.at, done

    def text(self, now: datetime) -> str:
        """One line for people."""
        done, whole = sum(each for _, each in self._chunks.values()), len(self._chunks)
        if not whole:
            return f"{self.name}: cancelled; results that are there stay"
        left = ", done" if done == whole else ""
        if 0 < done < whole:
            passed_s = max((now - min(at for at, _ in self._chunks.values())).total_seconds(), 0.0)
            left = f", about {duration(passed_s * (whole - done) / done)} left"
        return f"{self.name}: {done} of {whole} chunks ({100 * done / whole:.0f} %){left}"
