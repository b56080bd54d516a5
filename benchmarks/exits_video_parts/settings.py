"""The runs of ``benchmarks.exits_video``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.exits_video_parts.cases import NANO, STREET_S, Case, clips, streets
from benchmarks.recogniser_parts.dear import DEAR, MIDDLE, ready
from benchmarks.run_parts.watched import Asked
from benchmarks.tracking_parts.recordings import models

NOTHING, LEARNT = "nothing", "recording"
"""What exits begin with."""
ORACLE: Mapping[str, Any] = {"specialize": False, "caches": False}
"""The oracle alone; everything at its default: no keys."""
LEARNT_S = 300.0
"""Length of the recording that is learnt from before; the rest of a street is shown."""
QUICK_S = 60.0


@dataclass(frozen=True)
class Setting:
    """What is shown, what is asked of it, and what exits begin with."""

    case: Case
    recogniser: str
    answer: str
    accuracy: float
    begins_with: str = NOTHING

    @property
    def shown(self) -> Case:
        """What both runs see."""
        return self.case if self.begins_with == NOTHING else self.case.part(LEARNT_S, STREET_S)

    def asked(self, case: Case, folder: Path, **node: Any) -> Asked:
        """A process about a case; ``node``: further keys of the node that recognises."""
        query = case.query(
            self.recogniser, {"answer": self.answer, **node}, {"accuracy": self.accuracy, "variants": False}
        )
        directories = [ready(MIDDLE, DEAR)]
        if case.detector == NANO:
            if not (folder.parent / "models").exists():
                models(NANO, folder.parent / "models")
            directories.append(folder.parent / "models")
        return Asked(folder, query, directories)

    @property
    def told(self) -> dict[str, Any]:
        """As the first columns of a row."""
        return {
            "case": self.case.name,
            "recogniser": self.recogniser,
            "answer": self.answer,
            "accuracy": self.accuracy,
            "begins_with": self.begins_with,
        }


def settings(quick: bool) -> Iterator[Setting]:
    """Those that count most come first; ``quick``: the beginning of a street."""
    if quick:
        yield Setting(streets()[0].part(0, QUICK_S), MIDDLE.name, "track", 0.9)
        return
    for case in streets():
        yield from (Setting(case, MIDDLE.name, answer, 0.9) for answer in ("track", "look"))
    for case in clips():
        yield from (Setting(case, MIDDLE.name, answer, 0.9) for answer in ("track", "look"))
    first = streets()[0]
    yield Setting(first, DEAR.name, "track", 0.9)
    yield Setting(first, MIDDLE.name, "look", 0.9, LEARNT)
