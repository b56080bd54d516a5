"""Finds one result in a file of results, and the audits in a closing report; neither file is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from operators.wire.schema import NodePlan, Result, from_json
from serving.budgets.terms import BudgetReport
from serving.common.untrusted import LARGEST_BYTES, decode
from serving.errors import BadInput, Malformed

LONGEST_LINE = LARGEST_BYTES + 1
"""A line that is read so far is refused as too long."""
MOST_STREAMS = 1000
"""So many streams are told apart in a file."""


@dataclass
class Sought:
    """One frame, looked for among results: the last that fits, since a later run begins with 0 again."""

    seq: int
    stream: str | None = None
    query: str | None = None
    found: dict[tuple[str, str], Result] = field(default_factory=dict)
    """By stream and query."""
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    """First and last number of each stream's frames."""

    def take(self, result: Result) -> None:
        if self.stream not in (None, result.stream) or self.query not in (None, result.query):
            return
        if result.stream in self.seen or len(self.seen) < MOST_STREAMS:
            low, high = self.seen.get(result.stream, (result.seq, result.seq))
            self.seen[result.stream] = min(low, result.seq), max(high, result.seq)
            key = result.stream, result.query
            if result.seq == self.seq and (key in self.found or len(self.found) < MOST_STREAMS):
                self.found[key] = result

    def result(self, where: str) -> Result:
        """The one that fits; BadInput where there is none, or one of each of several streams, or queries."""
        if len(self.found) == 1:
            return next(iter(self.found.values()))
        streams, queries = (dict.fromkeys(each[place] for each in self.found) for place in (0, 1))
        if len(streams) > 1:
            raise BadInput(f"{where}: several streams have a frame {self.seq}: say --stream {' or '.join(streams)}")
        if queries:
            raise BadInput(f"{where}: several queries ask about it: say --query {' or '.join(queries)}")
        if not self.seen:
            of = "" if self.stream is None else f" of stream {self.stream}"
            of += "" if self.query is None else f" of query {self.query}"
            raise BadInput(f"{where}: there is no result{of}")
        there = ", ".join(f"{stream} {low} to {high}" for stream, (low, high) in sorted(self.seen.items())[:10])
        raise BadInput(f"{where}: there is no frame {self.seq}; there are: {there}")


def results(path: Path) -> Iterator[Result]:
    """The results of a file of JSON lines; BadInput, with the line, where one is none."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE):
                number += 1
                if line.strip():
                    yield _result(line, f"{path}:{number}")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None


def _result(line: bytes, where: str) -> Result:
    try:
        return from_json(line, Result)
    except Malformed as error:
        raise BadInput(f"{where}: not a result ({error}); give a file that --out wrote") from None


def budgets(report: Path) -> list[BudgetReport]:
    """The closing report's budgets; BadInput where it is no report."""
    return _read(report).budgets


def audits(report: Path, stream: str) -> Sequence[NodePlan]:
    """The closing report's audits of a stream's shortcuts; BadInput where it is no report."""
    found = _read(report)
    why_not = {each.node: each.reason for each in found.specialization if each.stream == stream}
    plans = [each for each in found.audits if each.stream == stream]
    return [
        msgspec.structs.replace(each, reason=why_not.get(each.node)) if each.kind == "specialised" else each
        for each in plans
    ]


def _read(report: Path) -> _Report:
    try:
        with report.open("rb") as file:
            return decode(file.read(LARGEST_BYTES + 1), _Report)
    except OSError as error:
        raise BadInput(f"{report}: cannot be read ({error.strerror})") from None
    except Malformed as error:
        raise BadInput(f"{report}: not a closing report ({error}); give a file that --report wrote") from None


class _Audit(NodePlan, kw_only=True, frozen=True):
    stream: str


class _Specialization(msgspec.Struct):
    stream: str
    node: str
    reason: str | None = None


class _Report(msgspec.Struct):
    audits: list[_Audit] = []
    specialization: list[_Specialization] = []
    budgets: list[BudgetReport] = []
