"""A plain name means the network; whoever says more than that gets what was said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.measure.stand_ins import roles
from pipelines.measure.stand_ins.roles import candidates, listed, prospects, proven_by, stood_in_for
from pipelines.query.query_file import Query
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.variants.contest import Contender, Contest, machine, store
from tests.pipelines.queries import DETECT, TRACK, TYPE, query

YOLOX = DETECT | {"model": "yolox-nano"}


def network(node: dict[str, Any], **keys: Any) -> str | None:
    nodes = [node] if node["name"] == "detect" else [DETECT, TRACK, node]
    wanted = query(*nodes, **{"variants": "auto", **keys})
    return stood_in_for(wanted.nodes[-1], wanted)


def test_a_plain_name_may_be_stood_in_for() -> None:
    assert (network(TYPE), network(YOLOX)) == ("vehicle-type", "yolox-nano")
    assert network(TYPE | {"answer": "look"}) == "vehicle-type"
    assert network(YOLOX | {"when": "needed"}) == "yolox-nano"


@pytest.mark.parametrize(
    "node",
    [
        TYPE | {"model": "vehicle-type@onnxruntime-fp32"},
        TYPE | {"model": ["vehicle-type", "vehicle-type-compact"]},
        TYPE | {"model": "vehicle-type on gpu"},
        TYPE | {"model": {"task": "vehicle-type"}},
        TYPE | {"model": "sface", "gallery": "people"},
        TYPE | {"budget": {"per_day": "500 calls"}},
        DETECT,
        YOLOX | {"detail": "auto"},
    ],
)
def test_who_says_more_gets_that(node: dict[str, Any]) -> None:
    assert network(node) is None


@pytest.mark.parametrize("keys", [{"variants": False}, {"learning": {"budget": 0}}, {"accuracy": 1}])
def test_a_query_can_forbid_it(keys: dict[str, Any]) -> None:
    assert network(TYPE, **keys) is None


def test_a_query_file_says_off(tmp_path: Any) -> None:
    from pipelines.query.draft import load_query
    from tests.pipelines.queries import write

    text = """
        version: 1
        name: test
        slo_ms: 250
        variants: {}
        nodes: [{{name: detect, task: detect, model: motion}}]
    """
    assert load_query(write(tmp_path / "q.yaml", text.format("off"))).variants is False
    assert load_query(write(tmp_path / "q.yaml", text.format("auto"))).variants == "auto"
    with pytest.raises(Exception, match="variants"):
        load_query(write(tmp_path / "q.yaml", text.format("sometimes")))


def test_candidates_are_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Catalogue([SHIPPED]).find("vehicle-type")
    monkeypatch.setattr(roles, "installed", lambda engine: engine == "onnxruntime")
    assert [each.id for each in candidates(entry)] == ["vehicle-type@onnxruntime-int8"]
    monkeypatch.setattr(roles, "installed", lambda engine: True)
    assert len(candidates(entry)) == 3
    monkeypatch.setattr(roles, "runs_on_gpu", lambda: True)
    assert candidates(entry) == ()


def test_after_a_contest_the_winner_alone_is_listed() -> None:
    entry = Catalogue([SHIPPED]).find("vehicle-type")
    won = Contender(variant="vehicle-type@openvino-bf16", processor_s=0.5, agreement=1.0)
    held = Contest(
        identity="", fingerprints=machine(), processor_s=1.0, items=64, contenders=(won,), measured_at="2026"
    )
    assert listed(entry, held, 0.9) == (won.variant,)
    lost = Contest(identity="", fingerprints={}, processor_s=0.5, items=64, contenders=(won,), measured_at="2026")
    assert listed(entry, lost, 0.9) == ()
    assert listed(entry, None, 0.9) == tuple(each.id for each in candidates(entry))


@pytest.mark.parametrize(
    ("items", "agreement", "processor_s", "proven"),
    [
        (48, 1.0, 0.5, True),
        (47, 1.0, 0.5, False),
        (129, 126 / 129, 0.5, True),
        (129, 0.96, 0.5, False),
        (500, 1.0, 0.9, False),
    ],
)
def test_a_contest_proves_its_winner_on_as_many_pictures_as_an_audit_needs(
    items: int, agreement: float, processor_s: float, proven: bool
) -> None:
    won = Contender(variant="vehicle-type@openvino-bf16", processor_s=processor_s, agreement=agreement)
    held = Contest(
        identity="", fingerprints=machine(), processor_s=1.0, items=items, contenders=(won,), measured_at="2026"
    )
    assert (proven_by(held, 0.9) is not None) is proven


def test_what_is_known_here_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "installed", lambda engine: engine == "openvino")
    known, wanted = Catalogue([SHIPPED]), query(DETECT, TRACK, TYPE, variants="auto")
    waits = "vehicle-type: its variants are compared by `sluice learn`, else once it has run for hours"
    assert prospects(wanted, known, tmp_path) == [waits]
    entry, bf16 = known.find("vehicle-type"), "vehicle-type@openvino-bf16"
    for processor_s, said in (
        (0.5, f"{bf16} answers on every stream, audited: it stands in for vehicle-type: 500.00 ms"),
        (0.9, "vehicle-type has no stand-in: no variant that agrees takes 0.85 of its processor time or less"),
    ):
        one = Contender(variant=bf16, identity=entry.card.identity, processor_s=processor_s, agreement=1.0)
        held = Contest(
            identity=entry.card.identity,
            fingerprints=machine(),
            processor_s=1.0,
            items=64,
            contenders=(one,),
            measured_at="2026",
        )
        store(held, entry, tmp_path)
        (line,) = prospects(wanted, known, tmp_path)
        assert line.startswith(said)
    assert prospects(query(DETECT, TRACK, TYPE, variants=False), known, tmp_path) == []
    monkeypatch.setattr(roles, "installed", lambda engine: False)
    (tmp_path / "none").mkdir()
    assert prospects(wanted, known, tmp_path / "none") == []


def test_every_query_has_them_that_does_not_forbid_it() -> None:
    assert Query.model_validate({"version": 1, "name": "a", "slo_ms": 9, "nodes": [DETECT]}).variants == "auto"
