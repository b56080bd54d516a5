"""The published JSON Schemas are those of the code, and hold for real files and messages."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tools.schemas import schemas, text

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.json"))
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
SCHEMAS = schemas()
"""To write them takes a second, and to check that one of them is a schema as long."""


@cache
def schema_of(name: str) -> Any:
    """What validates a message by a schema of this name."""
    kind = jsonschema.validators.validator_for(SCHEMAS[name])
    kind.check_schema(SCHEMAS[name])
    return kind(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_file_in_docs_is_up_to_date(name: str) -> None:
    committed = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert committed == text(SCHEMAS[name]), "run: python -m tools.schemas"


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_messages_hold_to_their_schema(file: Path) -> None:
    message = json.loads(file.read_text())
    kind = message["schema"].removeprefix("sluice.").partition("/")[0]
    schema_of(f"{kind}.schema.json").validate(message)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_hold_to_the_schema_of_queries(file: Path) -> None:
    schema_of("query.schema.json").validate(yaml.safe_load(file.read_text()))


def test_the_schema_of_queries_refuses_what_the_parser_refuses() -> None:
    query = yaml.safe_load(EXAMPLES[0].read_text())
    for wrong in ({"slo": 1}, {"nodes": [{"name": "d", "task": "detct", "model": "m"}]}, {"slo_ms": 0}):
        with pytest.raises(jsonschema.ValidationError):
            schema_of("query.schema.json").validate(query | wrong)
