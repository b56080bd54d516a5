"""Results as a folder of Parquet files, which readers take as one data set. A file is whole or not there.

Each is called ``part-STREAM-SEQ.parquet`` after its first result, and holds results of one stream in order.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from operators.wire.schema import BoundingBox, Object, Result, to_json
from pipelines.run.jobs.output import PastFrame, PastObject, Position, is_lead, make_folder
from serving.common.files import open_alone, to_disk
from serving.errors import BadInput, SluiceError

ROWS: Final = 2000
"""Results of a file, and results of a stream in memory: those that a kill loses are made again."""
LOCK: Final = "_lock"
_PART: Final = re.compile(r"part-(?P<stream>[A-Za-z0-9._-]{1,100})-(?P<seq>\d{12})\.parquet")
_ATTRIBUTE: Final = pa.struct(
    [
        ("name", pa.string()),
        ("label", pa.string()),
        ("confidence", pa.float64()),
        ("provenance", pa.string()),
        ("model", pa.string()),
        ("model_version", pa.string()),
        ("looks", pa.int64()),
    ]
)
_OBJECT: Final = pa.struct(
    [
        ("id", pa.int64()),
        ("label", pa.string()),
        ("confidence", pa.float64()),
        ("track_id", pa.int64()),
        ("parent_id", pa.int64()),
        *((corner, pa.float64()) for corner in ("x_min", "y_min", "x_max", "y_max")),
        ("provenance", pa.string()),
        ("attributes", pa.list_(_ATTRIBUTE)),
        ("zones", pa.list_(pa.string())),
    ]
)
SCHEMA: Final = pa.schema(
    [
        ("stream", pa.string()),
        ("run", pa.string()),
        ("seq", pa.int64()),
        ("query", pa.string()),
        ("media_time_s", pa.float64()),
        ("captured_at", pa.timestamp("us", "UTC")),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("outcome", pa.string()),
        ("cause", pa.string()),
        ("objects", pa.list_(_OBJECT)),
        ("plan", pa.string()),
    ]
)
"""A row for each result; ``plan`` is the JSON of how the frame was run."""


class ParquetOutput:
    """Writes a file for every so many results of a stream."""

    def __init__(self, place: Path, anew: bool) -> None:
        self._place = place
        self._waiting: dict[str, list[Result]] = {}
        make_folder(place)
        self._lock = open_alone(place / LOCK, "results", keep=lambda: 0)
        try:
            self._clear(anew)
            self._parts = self._found()
            self._positions = {stream: self._position(stream) for stream in self._parts}
        except BaseException:
            self._lock.close()
            raise

    @property
    def positions(self) -> Mapping[str, Position]:
        return self._positions

    def tail(self, stream: str) -> list[PastFrame]:
        rows: list[PastFrame] = []
        for seq in reversed(self._parts.get(stream, [])):
            for row in reversed(self._read(stream, seq, ["seq", "media_time_s", "objects"])):
                if rows and not is_lead(row["media_time_s"], len(rows), rows[0].media_time_s):
                    return rows[::-1]
                rows.append(PastFrame(row["seq"], row["media_time_s"], list(_past(row["objects"]))))
        return rows[::-1]

    async def write(self, result: Result) -> None:
        waiting = self._waiting.setdefault(result.stream, [])
        waiting.append(result)
        if len(waiting) >= ROWS:
            await self.settle(result.stream)

    async def settle(self, stream: str) -> None:
        rows = self._waiting.pop(stream, [])
        if rows:
            await asyncio.to_thread(self._write, self._file(stream, rows[0].seq), rows)
            self._parts.setdefault(stream, []).append(rows[0].seq)
            last = rows[-1]
            self._positions[stream] = Position(last.run, last.seq, last.frame.media_time_s)

    def close(self) -> None:
        self._lock.close()

    def _clear(self, anew: bool) -> None:
        """Take away what a kill has left half written, and with ``anew`` all."""
        for each in self._place.iterdir():
            if each.name.startswith("_part-") or (anew and _PART.fullmatch(each.name)):
                each.unlink()

    def _found(self) -> dict[str, list[int]]:
        """The first numbers of each stream's files, in order."""
        found: dict[str, list[int]] = {}
        for each in sorted(self._place.iterdir()):
            if (part := _PART.fullmatch(each.name)) is not None:
                found.setdefault(part["stream"], []).append(int(part["seq"]))
            elif each.name != LOCK:
                raise BadInput(f"{self._place}: {each.name} is no part of results: choose another --out")
        return found

    def _position(self, stream: str) -> Position:
        """The last result; raises BadInput where a file between is missing."""
        due = 0
        for seq in self._parts[stream]:
            file = self._file(stream, seq)
            if seq != due:
                raise BadInput(f"{file}: results from {due} on are missing before it: --anew loses what is there")
            due += _checked(file).num_rows
        last = self._read(stream, self._parts[stream][-1], ["run", "seq", "media_time_s"])[-1]
        return Position(last["run"], last["seq"], last["media_time_s"])

    def _read(self, stream: str, seq: int, columns: list[str]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self._file(stream, seq), columns=columns).to_pylist()
        return rows

    def _file(self, stream: str, seq: int) -> Path:
        return self._place / f"part-{stream}-{seq:012d}.parquet"

    def _write(self, file: Path, results: list[Result]) -> None:
        fresh = file.with_name(f"_{file.name}")
        try:
            pq.write_table(pa.Table.from_pylist([_row(each) for each in results], SCHEMA), fresh, compression="zstd")
            with fresh.open("rb") as written:
                to_disk(written.fileno(), self._place)
                os.replace(fresh, file)
                to_disk(written.fileno(), self._place)  # the name
        except OSError as error:
            raise SluiceError(f"cannot write results to {self._place}: {error.strerror or error}") from None


def _checked(file: Path) -> Any:
    """The description of a file; raises BadInput where it is none of ours."""
    try:
        with pq.ParquetFile(file) as part:
            if part.schema_arrow.names != SCHEMA.names or not part.metadata.num_rows:
                raise BadInput(f"{file}: its columns are not those of results: choose another --out")
            return part.metadata
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{file}: cannot be read ({error}): --anew loses what is there") from None


def _row(result: Result) -> dict[str, Any]:
    """The fields of a result by the names of columns; further ones have none."""
    said = msgspec.to_builtins(result, builtin_types=(datetime,))
    objects, plan = [_object(each) for each in result.objects], to_json(result.plan).decode()
    return {**said, **said["frame"], "objects": objects, "plan": plan}


def _object(found: Object) -> dict[str, Any]:
    said = msgspec.to_builtins(found)
    attributes = [
        {**each, "model": each["model"]["name"], "model_version": each["model"]["version"]}
        for each in said["attributes"]
    ]
    corners = msgspec.structs.asdict(found.box)
    return {**said, **corners, "provenance": found.detection.provenance, "attributes": attributes}


def _past(objects: list[dict[str, Any]]) -> Iterator[PastObject]:
    for each in objects:
        if each["track_id"] is not None:
            box = BoundingBox(**{corner: each[corner] for corner in ("x_min", "y_min", "x_max", "y_max")})
            yield PastObject(each["label"], box, each["track_id"])
