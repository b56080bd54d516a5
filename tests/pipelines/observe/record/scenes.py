"""Recordings for tests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from operators.wire.adaptation import Disagreement, Finding, Opinion
from operators.wire.schema import Object
from pipelines.observe.record.layout import Manifest, Recording
from pipelines.observe.record.recorder import Recorder, recorders
from tests.operators.publish.messages import picture, result
from tests.pipelines.observe.forward.notes import event

MB = 1_000_000


def manifest(query: str = "q", digest: str = "0" * 64) -> Manifest:
    return Manifest(query=query, query_sha256=digest, begun_at=datetime(2026, 1, 2, tzinfo=UTC))


def recording(directory: Path, most_bytes: int = 10 * MB, digest: str = "0" * 64) -> Recording:
    """One of query ``q``."""
    return Recording(directory, manifest(digest=digest), most_bytes)


def play(recorder: Recorder, seqs: range, *objects: Object, stream: str = "yard", run: str = "r1") -> None:
    """Give it frames, ten a second, each as bright as its number."""
    for seq in seqs:
        found = result(seq, *objects, stream=stream, run=run)
        asyncio.run(recorder.take(picture(found, grey=seq % 256), found))


def record(directory: Path, *objects: Object, frames: int = 30, at: int = 5) -> None:
    """An episode around an event at one of these frames."""
    with recorders(recording(directory)) as (recorder,):
        play(recorder, range(at + 1), *objects)
        recorder.event_found(event(seq=at, media_time_s=at / 10))
        play(recorder, range(at + 1, frames), *objects)


def disagreement(stream: str = "yard", at_s: float = 1.0) -> Disagreement:
    """A variant said van, and the oracle car."""
    said = [Opinion(models=[name], found=[Finding(label=name, confidence=0.5)]) for name in ("van", "car")]
    return Disagreement(
        stream=stream, node="type", kind="variant", media_time_s=at_s, in_shadow=False, shortcut=said[0], oracle=said[1]
    )
