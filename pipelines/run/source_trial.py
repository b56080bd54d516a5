"""Reads the first frame of each source, as a run does: what would fail there fails here. Cameras are left alone."""

from __future__ import annotations

from dataclasses import replace

from operators.capture.consumer import CaptureCallbacks
from operators.capture.service import Capture
from operators.frames.frame import Frame
from pipelines.query.query_file import Query
from pipelines.run.capture_specs import capture_specs
from serving.errors import SourceError


def source_faults(query: Query, hwaccel: str) -> dict[str, str]:
    """Why streams cannot be read, by their ids; a camera may come at any time, and is not asked."""
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
