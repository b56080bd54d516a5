"""A trainer for tests: it makes the majority class of the samples, as one byte."""

from __future__ import annotations

from collections import Counter

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Rows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from serving.common.threads import ThreadTime
from serving.errors import ModelError, SluiceError

SUBJECT = Subject("type", "net", "ab" * 32, "cd" * 32)
SPEC = ExitsSpec((ExitCut("late", (1, 1, 1), 0.5),), Vocabulary(2, 0.5), 0.9)
OTHERS = ExitsSpec((ExitCut("early", (1, 1, 1), 0.5),), Vocabulary(2, 0.5), 0.9)
"""It makes none of these."""
TARGET = Target(SUBJECT, SPEC)
DIMS = SPEC.layout.dims
"""Values of a sample."""


class Majority:
    """Takes half a second for each training."""

    def __init__(self, least: int = 1, least_samples: int = 0) -> None:
        """``least``: the fewest samples of a training; ``least_samples``: those before which there is none."""
        self.least_samples = least_samples
        self.trained: list[Rows] = []
        self._least = least

    def why_foreign(self, subject: Subject) -> str | None:
        return None if subject.network == SUBJECT.network else "nobody trains on it"

    def why_not(self, target: Target) -> str | None:
        return None if target.spec == SPEC else "there is nothing to say of it"

    async def train(self, target: Target, rows: Rows, took: ThreadTime) -> bytes:
        took.seconds += 0.5
        self.trained.append(rows)
        if len(rows) < self._least:
            raise SluiceError(f"{len(rows)} samples are too few")
        ((label, _),) = Counter(rows.labels.tolist()).most_common(1)
        return bytes([label])

    def judge(self, target: Target, data: bytes, held: Rows) -> float:
        if len(data) != 1:
            raise ModelError("not one byte")
        return float((held.labels == data[0]).mean()) if len(held) else 0.0
