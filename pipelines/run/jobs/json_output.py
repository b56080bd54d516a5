"""Results as JSON lines in one file, the streams mixed. A line that a kill has cut off is taken away."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from operators.publish.jsonl import STDOUT, JsonLines
from operators.wire.bounds import Id, MediaTime, Seq
from operators.wire.schema import Result, from_json
from pipelines.process.extras import need
from pipelines.run.jobs.output import MOST_LEAD, JobOutput, PastFrame, Position, is_lead
from serving.common.untrusted import LARGEST_BYTES, decode
from serving.errors import BadInput, Malformed

BEGIN = b'{"schema":"sluice.result/'
"""The first bytes of each line."""


class _LineFrame(msgspec.Struct):
    media_time_s: MediaTime


class _Line(msgspec.Struct):
    """The part of a result that says whose it is."""

    stream: Id
    run: Id
    seq: Seq
    frame: _LineFrame


class _Mark(NamedTuple):
    """The beginning of a line in the file, and its frame."""

    place: int
    seq: int
    media_time_s: float


class JsonOutput:
    """Appends to a file, line by line, unbuffered: a kill loses nothing, a crash of the machine what is not settled."""

    def __init__(self, place: Path, anew: bool) -> None:
        self._place = place
        self._positions: dict[str, Position] = {}
        self._marks: dict[str, list[_Mark]] = {}
        """Lines of each stream, two at most, of which the first lies before its lead-in."""
        self._lines = JsonLines(str(place), keep=(lambda: 0) if anew else self._read)

    @property
    def positions(self) -> Mapping[str, Position]:
        return self._positions

    def tail(self, stream: str) -> list[PastFrame]:
        if stream not in self._marks:
            return []
        last, found = self._positions[stream], deque[PastFrame](maxlen=MOST_LEAD)
        with self._place.open("rb") as file:
            file.seek(self._marks[stream][0].place)
            while not found or found[-1].seq < last.seq:
                if decode(line := file.readline(), _Line).stream == stream:
                    found.append(PastFrame.of(from_json(line, Result)))
        while not is_lead(found[0].media_time_s, len(found) - 1, last.media_time_s):
            found.popleft()
        return list(found)

    async def write(self, result: Result) -> None:
        self._lines.write(result)

    async def settle(self, stream: str) -> None:
        await asyncio.to_thread(self._lines.settle)

    def close(self) -> None:
        self._lines.close()

    def _read(self) -> int:
        """Read all lines; returns the bytes of whole ones."""
        place = number = 0
        with self._place.open("rb") as file:
            while line := file.readline(LARGEST_BYTES + 1):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) > LARGEST_BYTES:
                        raise self._foreign(number, "is too long")
                    if not BEGIN.startswith(line[: len(BEGIN)]):
                        raise self._foreign(number, "is no result")
                    break
                self._take(line, place, number)
                place += len(line)
        return place

    def _take(self, line: bytes, place: int, number: int) -> None:
        try:
            found = decode(line, _Line)
        except Malformed as error:
            raise self._foreign(number, f"is no result ({error})") from None
        before = self._positions.get(found.stream)
        if found.seq != (0 if before is None else before.seq + 1) or (before and before.run != found.run):
            raise self._foreign(number, f"does not follow the line before it of stream {found.stream}")
        media_time_s = found.frame.media_time_s
        self._positions[found.stream] = Position(found.run, found.seq, media_time_s)
        marks = self._marks.setdefault(found.stream, [])
        if not marks or not is_lead(marks[-1].media_time_s, found.seq - marks[-1].seq, media_time_s):
            marks.append(_Mark(place, found.seq, media_time_s))
            del marks[:-2]

    def _foreign(self, number: int, why: str) -> BadInput:
        return BadInput(f"{self._place}: line {number} {why}: choose another --out, or --anew to lose what is there")


PARQUET = ".parquet"


def open_output(place: Path, anew: bool) -> JobOutput:
    """The results at this place, for this process alone; ``anew``: without those that are there.

    Raises BadInput where it cannot be written, another process writes there, or something else lies there.
    """
    if str(place) == STDOUT:
        raise BadInput("--out -: a job goes on where its results end: give it a file; `sluice run` writes to stdout")
    if place.suffix == PARQUET:
        need("pyarrow")
        from pipelines.run.jobs.parquet_output import ParquetOutput

        return ParquetOutput(place, anew)
    return JsonOutput(place, anew)
