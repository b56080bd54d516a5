"""A query that names no model, with one that ships and its variant: which answers as networks are in trouble."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipelines.assembly.planners import planner, requirements
from pipelines.environment import artefacts_dir, backend, catalogue
from pipelines.measure.process_meter import ModelStates, ProcessMeter
from pipelines.planning.planner import Start, Step
from pipelines.query.check import open_query
from serving.scheduling.requests import Urgency
from serving.selection import Requirements
from serving.variants import profiles
from serving.variants.artefacts import folder
from serving.variants.profiles import Profile, fingerprint
from serving.variants.variant import parse
from tests.pipelines.queries import write

LARGE, SMALL = "vehicle-type", "vehicle-type@openvino-fp32"
QUERY = """\
version: 1
name: q
slo_ms: 100000
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: type, task: recognise, input: detect, answer: look, model: {task: vehicle-type, accuracy: 0.9, NEEDS}}
"""


def measured(model: str, took_s: float, agreement: float, eight: float = 1.0) -> None:
    """``eight``: a batch of eight takes so many times as long as one of one."""
    entry, variant = catalogue([]).find(LARGE), parse(model)
    curve = {1: took_s, 8: eight * took_s}
    profile = Profile(
        variant=variant.profiled.id,
        model_sha256=entry.card.sha256,
        fingerprint=fingerprint(variant.engine),
        latency_s=curve,
        latency_p95_s=curve,
        load_s=0.1,
        memory_bytes=1,
        accuracy=None,
        agreement=agreement,
        items=100,
        data="crops",
        data_sha256="d" * 64,
        measured_at="2026-01-01T00:00:00Z",
    )
    profiles.store(profile, folder(artefacts_dir(), entry))


@pytest.mark.parametrize(
    ("needs", "why"),
    [
        ("latency_ms: 60000", "the least loaded of the active variants that meet the requirements"),
        ("cost_ms: 3600000", "the least loaded of the active variants that meet the requirements"),
        ("", "vehicle-type is interfered"),
    ],
)
async def test_what_takes_much_longer_than_was_measured_is_passed_over(
    needs: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference was measured to take next to nothing, and so whatever it takes is too long."""
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    measured(LARGE, 2e-6, 1.0)
    measured(SMALL, 1e-6, 0.99)
    text = QUERY.replace(", NEEDS", f", {needs}" if needs else "")
    wanted = open_query(write(tmp_path / "q.yaml", text), catalogue([]))
    assert wanted.dag.nodes[-1].models == (LARGE, SMALL)
    assert set(requirements(wanted.dag)) == {"type"}
    measured(SMALL, 30.0, 0.99)  # never in trouble
    meter = ProcessMeter()
    engine, states = backend(wanted.catalogue, meter), ModelStates(meter)
    await engine.start()
    try:
        async with planner(wanted.dag, engine, states=states.at) as plans:
            step = Step("cam", "type", (LARGE, SMALL), 0.0, 100.0, 0.0)
            plans.begins(Start("cam", 0.0, 100.0, False, (), False))
            assert [rung.model for rung in plans.plan(step).ladder] == [LARGE, SMALL]
            card = engine.card(LARGE)
            crops = np.zeros((1, *card.input.item_shape), np.float32)
            for model in (LARGE, SMALL):
                await engine.infer(model, crops, Urgency(1e9))
            plans.begins(Start("cam", 10.0, 110.0, False, (), False))
            ladder = plans.plan(step._replace(now_s=10.0, deadline_s=110.0)).ladder
            assert [rung.model for rung in ladder] == [SMALL, LARGE]
            assert ladder[0].said == why
    finally:
        await engine.stop()


def test_a_query_that_names_models_requires_nothing(tmp_path: Path) -> None:
    text = QUERY.replace("{task: vehicle-type, accuracy: 0.9, NEEDS}", "[vehicle-type, vehicle-type-compact]")
    assert requirements(open_query(write(tmp_path / "q.yaml", text), catalogue([])).dag) == {}
    assert Requirements().latency_s == float("inf")
