"""Results while they come: from the file that ``sluice run`` writes, and from the topic of a worker."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from kafka import KafkaConsumer

from benchmarks.capacity_parts.cameras import FPS, SLO_MS

FULL_RATE = 0.97
"""The least share of its frames that cameras must have: one that stands still loses none, and shows none."""


@dataclass(frozen=True)
class Answer:
    """What became of one frame."""

    stream: str
    captured_s: float
    latency_ms: float | None
    """From the decoded picture to the result, in the file or on the topic; None: it was dropped, or failed."""
    cause: str | None = None


class Results(Protocol):
    """Results of one run."""

    def fresh(self) -> Iterator[Answer]:
        """Those that have come since they were last asked for."""
        ...

    def close(self) -> None:
        """Let go of what they are read from."""
        ...


class FileResults:
    """Lines of JSON."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._file, self._rest = path.open("rb"), b""

    def fresh(self) -> Iterator[Answer]:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            result = json.loads(line)
            yield _answer(result, result["plan"]["latency_ms"])

    def close(self) -> None:
        self._file.close()


class TopicResults:
    """The topic is read as any consumer would; a result is there when the broker has been sent it."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = KafkaConsumer("sluice.results.v1", bootstrap_servers=bootstrap, auto_offset_reset="earliest")

    def fresh(self) -> Iterator[Answer]:
        while found := self._consumer.poll(timeout_ms=100):
            for record in (each for records in found.values() for each in records):
                result = json.loads(record.value)
                yield _answer(result, record.timestamp - 1000 * _captured_s(result))

    def close(self) -> None:
        self._consumer.close()


def _answer(result: dict[str, Any], latency_ms: float) -> Answer:
    analysed = result["outcome"] == "analysed"
    return Answer(result["stream"], _captured_s(result), latency_ms if analysed else None, result["cause"])


def _captured_s(result: dict[str, Any]) -> float:
    return datetime.fromisoformat(result["frame"]["captured_at"]).timestamp()


@dataclass(frozen=True)
class Latencies:
    """How long frames took."""

    p50_ms: float
    p99_ms: float
    frames: int
    lost: Mapping[str, int]
    """Frames without an answer, by cause."""

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Latencies:
        took = [each.latency_ms for each in answers if each.latency_ms is not None]
        lost = Counter(str(each.cause) for each in answers if each.latency_ms is None)
        p50_ms, p99_ms = np.percentile(took, (50, 99)) if took else (math.inf, math.inf)
        return cls(round(float(p50_ms), 1), round(float(p99_ms), 1), len(answers), lost)

    def fault(self, count: int, seconds: float) -> str | None:
        """Why so many cameras were not held for so long; None: they were."""
        if self.lost:
            return "frames lost: " + ", ".join(f"{cause} {frames}" for cause, frames in self.lost.items())
        if self.p99_ms > SLO_MS:
            return f"99th percentile {self.p99_ms} ms"
        wanted = count * FPS * seconds
        return None if self.frames >= FULL_RATE * wanted else f"{self.frames} frames of {wanted:.0f}"
