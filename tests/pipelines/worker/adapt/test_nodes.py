"""What there is to adapt in a query."""

from __future__ import annotations

import pytest

from operators.recognise.cached.cache_kind import CachedOracle
from operators.recognise.labels import Labels
from pipelines.environment import catalogue, template_dirs
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from pipelines.worker.adapt.nodes import adapted
from serving.errors import BadInput


def query(specialize: bool, model: str = "vehicle-type", caches: bool = False) -> Query:
    return Query.model_validate(
        {
            "version": 1,
            "name": "test",
            "slo_ms": 1000,
            "nodes": [
                {"name": "detect", "task": "detect", "model": "motion"},
                {
                    "name": "type",
                    "task": "recognise",
                    "input": "detect",
                    "model": model,
                    "specialize": specialize,
                    "caches": caches,
                },
            ],
        }
    )


def test_a_node_that_specialises_is_adapted_on_the_templates_of_its_oracle() -> None:
    found = adapted(compile_dag(query(True)), catalogue([]), template_dirs()).templates
    (known,) = found.values()
    assert list(found) == [("type", "vehicle-type-compact-features")]
    assert known.template.has_store
    assert known.identity
    assert known.labels


def test_without_a_training_set_any_file_of_the_network_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path_factory.mktemp("cache")))
    found = adapted(compile_dag(query(True, "street-kind")), catalogue([]), template_dirs()).templates
    ((node, name), known), *_ = found.items()
    assert (node, name, known.identity) == ("type", "street-kind-early20", None)


def test_a_node_with_caches_is_adapted_for_its_oracle() -> None:
    known = catalogue([])
    found = adapted(compile_dag(query(False, caches=True)), known, template_dirs())
    card = known.find("vehicle-type").card
    assert found.templates == {}
    assert found.oracles == {"type": CachedOracle("vehicle-type", card.identity, Labels(card.classes).digest, 8)}
    assert adapted(compile_dag(query(True)), known, template_dirs()).oracles == {}


def test_a_query_of_which_nothing_learns_is_refused() -> None:
    with pytest.raises(BadInput, match="`specialize: true` or `caches: true`"):
        adapted(compile_dag(query(False)), catalogue([]), template_dirs())
