"""Which nodes of a query exits can be learnt for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.query.dag import compiled
from pipelines.run.learn.learnable import LAST, Learnable
from serving.catalogue.lookup import SHIPPED, Catalogue
from tests.models import write_card
from tests.pipelines.queries import DETECT, TRACK, TYPE, query

KNOWN = Catalogue([SHIPPED])


def learnable(**keys: Any) -> Learnable:
    return Learnable.of(compiled(query(DETECT, TRACK, TYPE | keys), KNOWN))


def test_a_node_that_lists_its_oracle_can_have_exits() -> None:
    found = learnable(model=["vehicle-type-compact", "vehicle-type"], min_confidence=0.5)
    (node,) = found.nodes
    assert (node.oracle, node.spec.answer) == ("vehicle-type", "track")
    assert (node.vocabulary.labels, node.vocabulary.least_confidence, node.vocabulary.nameless) == (8, 0.5, (7,))
    shares = [cut.share for cut in node.cuts]
    assert shares == sorted(set(shares))
    assert 4 <= len(shares) <= 8
    assert shares[-1] <= LAST
    assert found.others == {}


def test_without_confidence_of_its_own_the_cards_counts() -> None:
    (node,) = learnable().nodes
    assert node.vocabulary.least_confidence == KNOWN.find("vehicle-type").card.min_confidence


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"model": "vehicle-type@onnxruntime-int8"}, "exits are in vehicle-type: list it as a model"),
        ({"gallery": Path("people")}, "who is in a gallery may change: exits for it are learnt while streams run"),
    ],
)
def test_others_say_why_not(keys: dict[str, Any], why: str) -> None:
    found = learnable(**keys)
    assert (list(found.nodes), found.others) == ([], {"type": why})


def test_one_name_leaves_nothing_to_tell_apart(tmp_path: Path) -> None:
    base = KNOWN.find("street-kind")
    (tmp_path / "m").mkdir()
    shutil.copy(base.path, tmp_path / "m" / "net.onnx")
    size = base.card.input.model_dump(mode="json")
    write_card(tmp_path / "m", classes=["gate open"], scores="probabilities", input=size)
    known = Catalogue([tmp_path, SHIPPED])
    found = Learnable.of(compiled(query(DETECT, TRACK, TYPE | {"model": "m"}), known))
    assert found.others == {"type": "m has one name to give: there is nothing to tell apart"}
