"""The published JSON Schemas are those of the code, and hold for real files and messages."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from pipelines.schemas import schemas, text

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.json"))
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("name", schemas())
def test_the_file_in_docs_is_up_to_date(name: str) -> None:
    committed = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert committed == text(schemas()[name]), "run: python -m pipelines.schemas"


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_messages_hold_to_their_schema(file: Path) -> None:
    message = json.loads(file.read_text())
    kind = message["schema"].removeprefix("sluice.").partition("/")[0]
    jsonschema.validate(message, schemas()[f"{kind}.schema.json"])


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_hold_to_the_schema_of_queries(file: Path) -> None:
    jsonschema.validate(yaml.safe_load(file.read_text()), schemas()["query.schema.json"])


def test_the_schema_of_queries_refuses_what_the_parser_refuses() -> None:
    query = yaml.safe_load(EXAMPLES[0].read_text())
    for wrong in ({"slo": 1}, {"nodes": [{"name": "d", "task": "detct", "model": "m"}]}, {"slo_ms": 0}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(query | wrong, schemas()["query.schema.json"])
