"""Writes the JSON Schemas of the query file and of the messages into ``docs/``: ``python -m tools.schemas``."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from operators.wire.schema import (
    Counts,
    DeadLetter,
    Event,
    FleetPlacement,
    FrameHeader,
    JobOrder,
    Notification,
    ProcessLoad,
    Result,
    SamplesHeader,
    StreamPlan,
    StreamStatus,
    UpdateHeader,
    Wish,
)
from pipelines.query.query_file import Query
from serving.common.explain import Strict

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MESSAGES: Mapping[str, type[msgspec.Struct]] = {
    "frame": FrameHeader,
    "result": Result,
    "stream": StreamStatus,
    "plan": StreamPlan,
    "event": Event,
    "count": Counts,
    "notification": Notification,
    "dead-letter": DeadLetter,
    "samples": SamplesHeader,
    "wish": Wish,
    "update": UpdateHeader,
    "load": ProcessLoad,
    "placement": FleetPlacement,
    "job": JobOrder,
}


def schemas() -> dict[str, dict[str, Any]]:
    """File name → JSON Schema."""
    found = {"query.schema.json": {"$schema": DIALECT, **_query_schema()}}
    for name, kind in MESSAGES.items():
        found[f"{name}.schema.json"] = {"$schema": DIALECT, **_cleaned(msgspec.json.schema(kind))}
    return found


def _cleaned(schema: Any) -> Any:
    """Descriptions without the indentation of the docstrings that they are, which later Pythons leave out."""
    if isinstance(schema, list):
        return [_cleaned(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: inspect.cleandoc(value) if key == "description" and isinstance(value, str) else _cleaned(value)
        for key, value in schema.items()
    }


def _query_schema() -> dict[str, Any]:
    """The schema of query files, each key described by the docstring below its field."""
    schema = Query.model_json_schema()
    models = {model.__name__: model for model in _below(Strict)}
    for name, part in (("Query", schema), *schema["$defs"].items()):
        for key, value in part["properties"].items():
            if said := field_docs(models[name]).get(key):
                part["properties"][key] = dict(sorted((value | {"description": said}).items()))
    return schema


def _below(model: type[Strict]) -> Iterator[type[Strict]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)


def field_docs(model: type, base: type = Strict) -> dict[str, str]:
    """The docstrings of a class's fields, its own and those it inherits from classes below ``base``."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, base) and each is not base:
            for field, said in pairwise(_statements(each)):
                match field, said:
                    case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(words))):
                        found[key] = inspect.cleandoc(words)
    return found


def _statements(model: type) -> list[ast.stmt]:
    """The body of a class; empty for one in C. ``inspect`` finds no class of msgspec from Python 3.13 on."""
    parts = ast.walk(ast.parse(inspect.getsource(sys.modules[model.__module__])))
    return next((each.body for each in parts if isinstance(each, ast.ClassDef) and each.name == model.__name__), [])


def text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all schemas."""
    docs = Path(__file__).resolve().parents[1] / "docs"
    for name, schema in schemas().items():
        (docs / name).write_text(text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
