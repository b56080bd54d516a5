"""docs/query.md tells every key with its default, and nothing that does not exist; the examples are right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pipelines.query.check import examine
from pipelines.query.draft import load_query
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.catalogue.public import public_models
from tests.pipelines.queries import write
from tools.schemas import schemas

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs" / "query.md").read_text(encoding="utf-8")
DEMO = ROOT / "pipelines" / "run" / "demo.yaml"
EXAMPLES = [*sorted((ROOT / "examples").glob("*.yaml")), DEMO]
MODELS = schemas()["query.schema.json"]["$defs"] | {"Query": schemas()["query.schema.json"]}
KEYS = [(model, key, spec) for model, schema in MODELS.items() for key, spec in schema["properties"].items()]


@pytest.mark.parametrize(("model", "key", "spec"), KEYS, ids=[f"{model}.{key}" for model, key, _ in KEYS])
def test_every_key_is_told_with_its_default(model: str, key: str, spec: dict[str, Any]) -> None:
    rows = [line for line in DOCS.splitlines() if line.startswith("|") and f"`{key}`" in line]
    assert rows, f"docs/query.md has no row for {key}"
    default = spec.get("default")
    if isinstance(default, int | float) and not model.endswith(("Topic", "TopicSettings")):
        told = str(default).lower()
        assert any(f"`{told}`" in row for row in rows), f"docs/query.md does not tell that {key} is {told} by default"


def test_every_key_that_is_told_exists() -> None:
    told = {key for row in re.findall(r"^\| (`.*?`) \|", DOCS, re.M) for key in re.findall(r"`(\w+)`", row)}
    fields = {"label", "zone", "confidence", "area", "block", "drop_oldest", "drop_late", "overload"}
    assert told - fields - {key for _, key, _ in KEYS} == set()


def test_the_query_in_the_docs_is_right(tmp_path: Path) -> None:
    text = DOCS.split("```yaml\n")[1].split("```")[0]
    assert examine(write(tmp_path / "q.yaml", text)).problems == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_right(path: Path) -> None:
    assert [str(problem) for problem in examine(path).problems] == []
    assert load_query(path).name == path.stem


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_name_models_that_ship_or_can_be_pulled(path: Path) -> None:
    known = {"motion", *Catalogue([SHIPPED]).names(), *public_models()}
    named = {model for node in load_query(path).nodes if node.task != "track" for model in node.model}
    assert named - known == set()


@pytest.mark.parametrize("path", [DEMO, ROOT / "examples" / "vehicles.yaml"], ids=lambda path: path.stem)
def test_these_examples_need_nothing_but_what_ships(path: Path) -> None:
    problems = examine(path, Catalogue([SHIPPED])).problems
    assert [str(problem) for problem in problems] == []
