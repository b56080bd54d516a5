"""A detect node that lists variants, with a real detector on a real clip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cache_adapt.audit.state import AuditState, Rule
from learning.budget import unlimited
from operators.audits.snapshot import NodeSnapshot
from operators.base import Call, ask
from operators.capture.sources.open import open_source
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.decision import Decision, Rung
from operators.testing import make_frame, so_far
from pipelines.assembly.environment import Audits, Environment
from pipelines.assembly.node import node
from pipelines.assembly.registry import Shortcuts
from pipelines.environment import backend
from pipelines.query.dag import compile_dag, compiled
from pipelines.query.query_file import Query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from pipelines.settings import cache_dir
from serving.catalogue.lookup import Catalogue
from serving.scheduling.requests import Urgency
from serving.variants.artefacts import build
from serving.variants.timings import store
from serving.variants.variant import parse
from tests.models import yolox_nano

LARGE, SMALL, BLIND = "yolox-nano", "yolox-nano@onnxruntime-fp32-size384", "yolox-nano@onnxruntime-fp32-size64"
DETECT = {"name": "detect", "task": "detect", "model": [LARGE, SMALL, BLIND], "labels": ["car", "person", "bicycle"]}
CLIP = "street-level.mp4"
TRACK = {"name": "track", "task": "track", "input": "detect"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Catalogue:
    """The detector with two smaller inputs, in the cache of the tests; on the smallest it finds nothing."""
    known = yolox_nano(tmp_path_factory.mktemp("models"), data_dir)
    cache, entry = cache_dir(), known.find(LARGE)
    assert cache is not None
    for model, seconds in ((LARGE, 5.0), (SMALL, 0.5), (BLIND, 0.1)):
        build(entry, parse(model), cache)
        store({1: seconds}, entry, parse(model), cache)  # as on a machine that is so slow
    return known


def wanted(clip: Path, fps: float = 0.5, **keys: Any) -> Query:
    given = {"version": 1, "name": "test", "slo_ms": 1000, "nodes": [DETECT, TRACK], **keys}
    return Query.model_validate({**given, "streams": [{"id": "park", "uri": str(clip), "sample": {"fps": fps}}]})


async def test_who_finds_what_the_oracle_finds_answers_and_who_finds_nothing_is_out(
    models: Catalogue, data_dir: Path
) -> None:
    query, engine, shortcuts = (
        wanted(data_dir / "videos" / CLIP),
        backend(models),
        Shortcuts("test"),
    )
    audits = Audits(shortcuts, Rule(0.7, probation_rate=1.0), budget=unlimited())
    await engine.start()
    try:
        detector = node(compile_dag(query).nodes[0].spec, Environment(engine, audits))
        ladder, models_used = (Rung(LARGE, 0, 5.0), Rung(SMALL, 1, 0.5), Rung(BLIND, 9, 0.1)), list[str | None]()
        source = open_source(SourceUri(str(data_dir / "videos" / CLIP)), Sampling("fps", 5.0), None)
        for seq, picture in zip(range(40), source.pictures(), strict=False):
            call = Call(Decision(LARGE, ladder=ladder, budget_ms=800.0), Urgency(1e9))
            answer = await ask(detector, make_frame(seq, seq / 5, picture.image, "park"), (), call)
            assert answer.decision is not None
            models_used.append(answer.decision.variant)
            shortcuts.nodes["detect"].published(so_far("park"))
            await shortcuts.nodes["detect"].close(10.0)
        source.close()
    finally:
        await engine.stop()
    phases = {plan.shortcuts[0]: plan.phase for plan in shortcuts.nodes["detect"].plans()["park"]}
    assert phases[BLIND] == "off"
    assert phases[SMALL] in ("trusted", "probation")
    assert (models_used[0], models_used[-1]) == (LARGE, SMALL)


async def test_a_variant_whose_file_vanishes_while_frames_come_gives_way_to_the_oracle(
    models: Catalogue, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = "yolox-nano@onnxruntime-fp32-size352"
    cache, entry = cache_dir(), models.find(LARGE)
    assert cache is not None
    file = build(entry, parse(gone), cache)
    query = wanted(data_dir / "videos" / CLIP, nodes=[DETECT | {"model": [LARGE, gone]}, TRACK])
    engine, shortcuts = backend(models), Shortcuts("test")
    audits = Audits(shortcuts, Rule(0.7, probation_rate=1.0), budget=unlimited())
    await engine.start()
    try:
        detector = node(compile_dag(query).nodes[0].spec, Environment(engine, audits))
        audits = {f"variant {gone}": AuditState(phase="probation")}
        trusted = NodeSnapshot(oracle=entry.card.identity, audits=audits).to_json()
        shortcuts.nodes["detect"].restore("park", trusted)
        answered = list[str | None]()
        for seq in range(4):
            ladder = (Rung(LARGE, int(seq < 2), 5.0), Rung(gone, 1, 0.5))
            call = Call(Decision(LARGE, ladder=ladder, budget_ms=800.0), Urgency(1e9))
            if seq == 2:  # the network is not in memory when it is wanted
                file.unlink()
            answer = await ask(detector, make_frame(seq, seq / 5, stream="park"), (), call)
            assert answer.decision is not None
            answered.append(answer.decision.variant)
    finally:
        await engine.stop()
    assert answered == [LARGE] * 4
    assert answer.declined == {"variant": f"{gone}: it is not there"}
    assert caplog.text.count(f"{gone} does not answer, others do in its place") == 1


@pytest.mark.parametrize(("when", "fps"), [("always", 0.5), ("needed", 4.0)])
def test_a_run_plans_its_detector_and_says_why(
    tmp_path: Path, models: Catalogue, data_dir: Path, when: str, fps: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.detect.needed.account.FIRST_CREDIT", 1000.0)  # whether it pays is another matter
    out, report = tmp_path / "out.jsonl", tmp_path / "report.json"
    query = wanted(data_dir / "videos" / CLIP, fps, nodes=[DETECT | {"when": when}, TRACK])
    run_query(compiled(query, models), Outputs(str(out), report=report))
    results = [json.loads(line) for line in out.read_text().splitlines()]
    assert {each["outcome"] for each in results} == {"analysed"}
    plans = [each["plan"]["nodes"]["detect"] for each in results]
    asked = [plan for plan in plans if plan.get("objects") is not None]
    assert len(asked) == len(plans) if when == "always" else 0 < len(asked) < len(plans)
    # Nobody has proven anything yet at so high an accuracy: the oracle runs, and the plan says so.
    assert {plan["variant"] for plan in asked} == {LARGE}
    assert "cause" in asked[0], "the first frame has not had the time that the oracle takes on this machine"
    assert f"{SMALL}: it has yet to prove itself on this stream" in asked[-1]["declined"]["variant"]
    kinds = {audit["kind"] for audit in json.loads(report.read_text())["audits"]}
    assert kinds >= ({"propagated"} if when == "needed" else {"variant"})
