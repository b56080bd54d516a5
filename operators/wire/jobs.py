"""The messages that put offline jobs before workers: a job is many chunks of recordings, never one long message."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from operators.wire import bounds
from operators.wire.bounds import Duration, Moment

JOB_SCHEMA: Final = "sluice.job/1"
QUERY_CHARS: Final = 128 << 10
"""Characters of the text of a job's query."""
SOURCE_CHARS: Final = 1024
"""Characters of the path of a recording."""
MOST_CHUNKS: Final = 100_000
"""Chunks of a recording, and recordings of a job."""

FileWord = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?![\s\S])")]
"""A part of the name of a file, which is neither hidden nor another folder."""
Nth = Annotated[int, Meta(ge=1, le=MOST_CHUNKS)]


class RecordingChunk(msgspec.Struct, kw_only=True, frozen=True):
    """A part of a recording, from a media time to another one, and what is to be done with it."""

    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARS)]
    """The text of the query's file."""
    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_CHARS)]
    """The path of the recording, relative to the worker's archive."""
    stream: FileWord
    form: Literal["jsonl", "parquet"]
    """The form of the results."""
    number: Nth
    """Which chunk of the recording it is, counted from 1; chunks of a recording come in order, on one partition."""
    of: Nth
    """Chunks of the recording."""
    recordings: Nth
    """Recordings of the job."""
    from_s: Duration
    to_s: Duration | None
    """The media time of the next chunk; None: the recording's end."""

    def holds(self, media_time_s: float) -> bool:
        """Whether a frame at this time lies before its end."""
        return self.to_s is None or media_time_s < self.to_s


class JobOrder(msgspec.Struct, kw_only=True, frozen=True):
    """One chunk of a job, or the end of the job. Topic ``jobs.v1``, key = job and stream."""

    schema: Literal["sluice.job/1"] = JOB_SCHEMA
    job: FileWord
    """Its name, which is the folder of its results too."""
    at: Moment
    """When it was submitted."""
    chunk: RecordingChunk | None = None
    """None: chunks of the job that were submitted before are not wanted any more."""

    def __post_init__(self) -> None:
        bounds.check(self.at)
