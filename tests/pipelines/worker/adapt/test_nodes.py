"""What there is to adapt in a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cache_adapt.adaptation.trainer import NodeNetwork
from cache_adapt.learned.vocabulary import Vocabulary
from pipelines.assembly.node_words import NodeWords, lent_identity
from pipelines.environment import catalogue
from pipelines.query.dag import Dag, compile_dag
from pipelines.query.query_file import Query
from pipelines.worker.adapt.process import adapted
from serving.errors import BadInput


def dag(**keys: Any) -> Dag:
    node = {"name": "type", "task": "recognise", "input": "detect", "model": "vehicle-type", **keys}
    detect = {"name": "detect", "task": "detect", "model": "motion"}
    return compile_dag(Query.model_validate({"version": 1, "name": "test", "slo_ms": 1000, "nodes": [detect, node]}))


@pytest.mark.parametrize("keys", [{}, {"specialize": True, "caches": False}, {"specialize": False, "caches": True}])
def test_exits_are_made_in_the_oracle_of_a_node_for_the_words_that_it_publishes(keys: dict[str, Any]) -> None:
    known = catalogue([])
    card = known.find("vehicle-type").card
    nameless = (card.classes.index(card.other_label),) if card.other_label else ()
    words = Vocabulary(len(card.classes), card.min_confidence, nameless)
    digest = NodeWords.of(card, card.classes, card.min_confidence).digest
    assert adapted(dag(**keys), known) == {"type": NodeNetwork("vehicle-type", card.identity, digest, words)}
    assert NodeWords.of(card, card.classes[::-1], card.min_confidence).digest != digest


def test_of_several_models_it_is_the_oracle_and_the_querys_least_confidence_counts() -> None:
    found = adapted(dag(model=["vehicle-type-compact", "vehicle-type"], min_confidence=0.75), catalogue([]))["type"]
    assert found.vocabulary
    assert (found.name, found.vocabulary.least_confidence) == ("vehicle-type", 0.75)


def test_where_the_oracle_is_elsewhere_exits_are_made_in_the_network_that_lends_its_cuts() -> None:
    known = catalogue([])
    far, near = known.find("vehicle-type").card, known.find("vehicle-type-compact").card
    found = adapted(dag(model=["vehicle-type on gpu", "vehicle-type-compact"]), known)["type"]
    assert (found.name, found.identity) == ("vehicle-type on gpu", lent_identity(near, far))


def test_whom_a_node_was_shown_only_its_workers_know(tmp_path: Path) -> None:
    known = catalogue([])
    found = adapted(dag(gallery=str(tmp_path)), known)["type"]
    assert found == NodeNetwork("vehicle-type", known.find("vehicle-type").card.identity)


def test_a_query_of_which_nothing_learns_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing of this query learns"):
        adapted(dag(specialize=False, caches=False), catalogue([]))
