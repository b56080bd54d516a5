"""Query files and models for tests, with defaults that a test overrides where it matters."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import yaml

from pipelines.query.query_file import Query

DETECT = {"name": "detect", "task": "detect", "model": "motion"}
TRACK = {"name": "track", "task": "track", "input": "detect"}
TYPE = {"name": "type", "task": "recognise", "input": "track[label in (moving)]", "model": "vehicle-type"}


def query(*nodes: dict[str, Any], **keys: Any) -> Query:
    """A valid query of these nodes."""
    given = {"version": 1, "name": "test", "slo_ms": 250, "nodes": list(nodes) or [DETECT, TRACK, TYPE]}
    return Query.model_validate(given | keys)


def write(path: Path, text: str) -> Path:
    """A file of this (indented) text."""
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def write_model(models: Path, name: str, task: str = "classify", **keys: Any) -> None:
    """The card of a model without its weights."""
    card = {
        "name": name,
        "version": "1",
        "task": task,
        "file": "model.onnx",
        "sha256": "0" * 64,
        "licence": "Apache-2.0",
        "source": "a test",
        "input": {"width": 32, "height": 32},
        "classes": [] if task == "embed" else ["car", "bus", "other"],
    }
    if task == "detect":
        card["decoding"] = {"kind": "yolox"}
    (models / name).mkdir(parents=True)
    (models / name / "model.yaml").write_text(yaml.safe_dump(card | keys))
