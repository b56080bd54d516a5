"""Messages of a small fleet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from operators.wire.schema import AskedSession, BatchTime, ProcessLoad, TimedModel

AT = datetime(2026, 5, 4, tzinfo=UTC)
TIMES = {1: 8.0, 8: 24.0, 16: 40.0}
"""Milliseconds."""


def timed(model: str, times: Mapping[int, float] = TIMES, memory: int = 100) -> TimedModel:
    told = [BatchTime(batch=size, ms=ms) for size, ms in times.items()]
    return TimedModel(model=model, times=told, memory_bytes=memory)


def told(
    process: str,
    rates: Mapping[str, float] | None = None,
    *,
    kind: Literal["worker", "backend"] = "worker",
    profiles: list[TimedModel] | None = None,
    instead: Mapping[str, list[str]] | None = None,
    **fields: object,
) -> ProcessLoad:
    """``rates``: asked items per second, by model; ``instead``: by model, those that may answer in its place."""
    others = instead or {}
    sessions = [
        AskedSession(model=model, slo_ms=200.0, asked=rate, served=rate, instead=others.get(model, []))
        for model, rate in (rates or {}).items()
    ]
    return ProcessLoad(
        id=process, kind=kind, at=AT, name=process, sessions=sessions, profiles=profiles or [], **fields  # type: ignore[arg-type]
    )  # fmt: skip


def backend(process: str, *models: str, **fields: object) -> ProcessLoad:
    return told(process, kind="backend", profiles=[timed(model) for model in models], **fields)  # type: ignore[arg-type]
