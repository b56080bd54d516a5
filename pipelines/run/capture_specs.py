"""From the streams of a query to what capture is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from operators.capture.sources.hardware import SOFTWARE
from operators.capture.sources.sampling import Sampling
from operators.capture.spec import CaptureSpec
from pipelines.query.query_file import Fps, Query, Sample, StreamSpec
from serving.errors import BadInput, QueryError, SourceError

if TYPE_CHECKING:
    from operators.frames.frame import Frame


def capture_specs(
    query: Query,
    *,
    limit: int | None = None,
    realtime: bool = False,
    loop: bool = False,
    give_up_s: float | None = None,
    hwaccel: str = SOFTWARE,
) -> list[CaptureSpec]:
    """One per stream; ``limit`` is in sampled frames of each stream. Live streams fail after ``give_up_s`` without one.

    Raises QueryError where there is no stream, BadInput where a secret of an address is not to be had."""
    if not query.streams:
        raise QueryError("the query has no streams: list some under `streams`, or give --source URI")
    for stream in query.streams:
        _reveal(stream)
    return [
        CaptureSpec(
            stream=stream.id,
            uri=stream.uri,
            sampling=sampling(stream.sample),
            motion_gate=stream.motion_gate,
            max_width=stream.max_width,
            limit=limit,
            realtime=realtime,
            loop=loop,
            give_up_after_s=give_up_s,
            hwaccel=hwaccel,
        )
        for stream in query.streams
    ]


def _reveal(stream: StreamSpec) -> None:
    """Find out before anything starts that a secret is missing."""
    try:
        stream.uri.reveal()
    except BadInput as error:
        raise BadInput(f"{error} (stream {stream.id})") from None


def sampling(sample: Sample) -> Sampling:
    """The query's way of saying it, as capture's."""
    return Sampling("fps", sample.fps) if isinstance(sample, Fps) else Sampling(sample)


def source_faults(query: Query, hwaccel: str) -> dict[str, str]:
    """Why streams cannot be read, by their ids; a camera may come at any time, and is not asked."""
    from operators.capture.outlet import CaptureCallbacks  # brings the decoder, which a wrong query does without
    from operators.capture.service import Capture

    found: dict[str, str] = {}
    for spec in capture_specs(query, limit=1, hwaccel=hwaccel) if query.streams else ():
        if spec.uri.live:
            continue
        try:
            Capture(replace(spec, motion_gate=False), CaptureCallbacks(_let_go)).run()
        except SourceError as error:
            found[spec.stream] = str(error)
    return found


def _let_go(frame: Frame) -> None:
    """One frame is enough to know."""
