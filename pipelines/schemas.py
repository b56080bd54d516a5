"""Writes the JSON Schemas of the query file and of the messages into ``docs/``: ``python -m pipelines.schemas``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from operators.wire.schema import DeadLetter, Event, FrameHeader, Result, StreamPlan, StreamStatus
from pipelines.query.query_file import Query

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MESSAGES: Mapping[str, type[msgspec.Struct]] = {
    "frame": FrameHeader,
    "result": Result,
    "stream": StreamStatus,
    "plan": StreamPlan,
    "event": Event,
    "dead-letter": DeadLetter,
}


def schemas() -> dict[str, dict[str, Any]]:
    """File name → JSON Schema."""
    found = {"query.schema.json": {"$schema": DIALECT, **Query.model_json_schema()}}
    for name, kind in MESSAGES.items():
        found[f"{name}.schema.json"] = {"$schema": DIALECT, **msgspec.json.schema(kind)}
    return found


def text(schema: Mapping[str, Any]) -> str:
    """A schema as it stands in its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all schemas."""
    docs = Path(__file__).resolve().parents[1] / "docs"
    for name, schema in schemas().items():
        (docs / name).write_text(text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
