"""A query that names a network and no variant, on a machine that knows a cheaper one: real networks on a real clip."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from learning import budget
from learning.budget import unlimited
from operators.audits.streams import StreamAudits
from operators.base import Call, ask, make_ready
from operators.decision import Decision
from operators.frames.frame import Box, Region
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.chain import Chain
from operators.testing import make_frame, so_far
from pipelines.assembly.environment import Audits, Environment
from pipelines.assembly.node import node
from pipelines.assembly.parts import Setting, housed
from pipelines.assembly.registry import Shortcuts
from pipelines.environment import artefacts_dir, backend, catalogue
from pipelines.measure.stand_ins import stand_ins
from pipelines.measure.stand_ins.stand_ins import StandIns
from pipelines.query.dag import compiled
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from pipelines.settings import cache_dir
from serving.scheduling.requests import Urgency
from serving.variants.artefacts import Calibration, build, folder, identity
from serving.variants.contest import FILE, Contender, Contest, machine, store
from serving.variants.variant import parse
from tests.pipelines.queries import query

MODEL, INT8 = "vehicle-type", "vehicle-type@onnxruntime-int8"
DETECT = {"name": "detect", "task": "detect", "model": "motion"}
TYPE = {"name": "type", "task": "recognise", "input": "detect", "model": MODEL, "specialize": False}


@pytest.fixture
def _known_here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A contest was held on this machine, and looking for its winner costs no time."""
    cache, entry = cache_dir(), catalogue([]).find(MODEL)
    assert cache is not None
    pictures = np.random.default_rng(0).normal(size=(8, *entry.card.input.item_shape)).astype(np.float32)
    build(entry, parse(INT8), cache, Calibration(pictures, "a" * 64))
    won = Contender(
        variant=INT8, identity=identity(entry, parse(INT8), cache), processor_s=0.1, load_s=0.0, agreement=1.0
    )
    held = Contest(
        identity=entry.card.identity,
        fingerprints=machine(),
        processor_s=1.0,
        items=64,
        contenders=(won,),
        measured_at="2026",
    )
    store(held, entry, cache)
    monkeypatch.setattr(stand_ins, "LOOK_S", 0.02)
    monkeypatch.setattr(stand_ins, "LEAST_S", 0.0)
    monkeypatch.setattr(budget, "FIRST_S", 0.0)
    yield
    (folder(cache, entry) / FILE).unlink()


def answers(out: Path, clip: Path, **keys: Any) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Who gave the answers, and the plans of the frames."""
    streams = [{"id": "park", "uri": str(clip)}]
    wanted = query(DETECT, TYPE, streams=streams, accuracy=0.2, learning={"budget": "100%"}, slo_ms=60_000, **keys)
    run_query(compiled(wanted, catalogue([])), Outputs(str(out)))
    results = [json.loads(line) for line in out.read_text().splitlines()]
    given = [said for each in results for found in each["objects"] for said in found["attributes"]]
    by = Counter(f"{said['provenance']} {said['model'].get('variant') or ''}".strip() for said in given)
    return by, [each["plan"]["nodes"]["type"] for each in results]


@pytest.mark.usefixtures("_known_here")
@pytest.mark.parametrize(
    ("compared", "at_first"),
    [(False, ("oracle", MODEL, "it has yet to prove itself on this stream")), (True, ("variant", INT8, None))],
)
async def test_it_is_not_loaded_before_it_is_tried_and_answers_once_the_stream_or_its_contest_has_proven_it(
    compared: bool, at_first: tuple[str, str, str | None]
) -> None:
    wanted = compiled(query(DETECT, TYPE, variants="auto"), catalogue([]))
    engine, shortcuts = backend(wanted.catalogue), Shortcuts("test")
    await engine.start()
    try:
        audits = Audits(shortcuts, Rule(0.2), budget=unlimited())
        chosen = StandIns(wanted, artefacts_dir(), engine)
        assert chosen.by_node == {"type": (INT8,)}
        operator = node(wanted.query.nodes[1], Environment(chosen.engine, audits, stand_ins=chosen.by_node))
        await make_ready(operator)
        assert not engine.is_loaded(INT8)
        said = list[tuple[str, str | None, str | None]]()
        for seq in range(60):
            region = Region(id=1, node="detect", box=Box(0.2, 0.2, 0.8, 0.8), label="moving", confidence=0.9)
            call = Call(Decision(INT8, why="it stands in", compared=compared), Urgency(1e9))
            answer = await ask(operator, make_frame(seq, seq / 5, stream="park"), [region], call)
            assert answer.decision is not None
            said.append((region.attributes[-1].provenance, answer.decision.variant, answer.declined.get("variant")))
            shortcuts.nodes["type"].published(so_far("park"))
            await shortcuts.nodes["type"].close(10.0)
        assert said[0] == at_first
        assert said[-1] == ("variant", INT8, None)
    finally:
        await engine.stop()


@pytest.mark.usefixtures("_known_here")
@pytest.mark.parametrize(("specialize", "learns"), [("auto", False), (True, True)])
async def test_exits_do_not_compete_with_what_is_proven_unless_the_query_asks_for_them_or_it_was_given_up(
    specialize: str | bool, learns: bool
) -> None:
    wanted = compiled(query(DETECT, {**TYPE, "specialize": specialize, "caches": "auto"}), catalogue([]))
    async with housed(wanted, Setting()) as house:
        operator = node(wanted.query.nodes[1], house.environment)
        assert isinstance(operator, Chain)
        park, street = (NodeStream(name, StreamAudits(Rule(0.2)), None) for name in ("park", "street"))
        assert (operator._looks.stood_in_by(park) is None) is learns
        audit = park.audits.of(f"variant {INT8}")
        audit.answers_at_once()
        while audit.uses_shortcut:
            ticket = audit.by_shortcut(0.0)
            assert ticket is not None
            audit.tell(ticket, agrees=False)
        assert operator._looks.stood_in_by(park) is None
        assert (operator._looks.stood_in_by(street) is None) is learns
        house.stand_ins._end(house.stand_ins._models[MODEL])
        assert operator._looks.stood_in_by(street) is None


@pytest.mark.usefixtures("_known_here")
def test_a_query_that_forbids_it_gets_the_network_that_it_names(tmp_path: Path, data_dir: Path) -> None:
    by, plans = answers(tmp_path / "off.jsonl", data_dir / "videos" / "car-detection.mp4", variants=False)
    assert by.keys() == {"oracle"}
    assert {plan["variant"] for plan in plans} == {MODEL}
