"""Caches that were built into a variant, in a node that lists it: real networks on real pictures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import cv2
import pytest

from cache_adapt.audit.state import Rule
from learning.purse import unlimited
from operators.base import Call, Operator, ask, make_ready
from operators.decision import Decision
from operators.frames.frame import Region
from operators.inference import Inference
from operators.recognise.cached.caches import Caches
from operators.recognise.chain import Chain
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.testing import make_frame, so_far
from pipelines.assembly.environment import Audits, Environment, Training
from pipelines.assembly.node import node as node_of
from pipelines.assembly.registry import ShortcutNode, Shortcuts
from pipelines.environment import backend
from pipelines.measure.cache_building import CacheBuildRequest, CacheReport, build_caches
from pipelines.measure.tapped_pictures import prepared, whole_of
from pipelines.measure.template_data import Shown
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.scheduling.requests import Urgency
from serving.variants.artefacts import Calibration, build
from serving.variants.variant import parse
from specialization.trainer.trainer import ThreadSpecializer
from tests.pipelines.measure.alike import build_quickly, silent, slow, write_pictures

KNOWN = Catalogue([SHIPPED])
ENTRY, INT8 = KNOWN.find("vehicle-colour"), "vehicle-colour@onnxruntime-int8"
TARGET = 0.6
MOST = 2000
"""Frames within which all have proven themselves."""


@pytest.fixture
def album(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    build_quickly(monkeypatch, steps=400)
    slow(monkeypatch, 0.5)
    (tmp_path / "album").mkdir()
    return write_pictures(tmp_path / "album")


def caches_built(album: Path) -> CacheReport:
    return build_caches(ENTRY, CacheBuildRequest(Shown.of(album), TARGET, album.parent / "cache"), silent)


def node_chain(album: Path, model: Sequence[str], engine: Inference) -> tuple[Operator, ShortcutNode]:
    """The operator of a node that lists these models, and its chain."""
    node = {"name": "kind", "task": "recognise", "input": "frame", "model": list(model), "caches": True}
    streams = [{"id": "cam", "uri": str(album)}]
    given = {"version": 1, "name": "test", "slo_ms": 1000, "streams": streams, "nodes": [node]}
    shortcuts, training = Shortcuts("test"), Training(KNOWN, [album], ThreadSpecializer(), album.parent / "samples")
    environment = Environment(engine, Audits(shortcuts, Rule(TARGET), training, unlimited()))
    operator = node_of(compile_dag(Query.model_validate(given)).nodes[0].spec, environment)
    return operator, shortcuts.nodes["kind"]


def links_of(album: Path, model: Sequence[str]) -> list[type]:
    _, chain = node_chain(album, model, backend(KNOWN))
    assert isinstance(chain, Chain)
    return [type(link) for link in chain.links]


async def shown(album: Path, model: Sequence[str], frames: int) -> AsyncIterator[Sequence[Region]]:
    """What a node says of picture after picture."""
    engine = backend(KNOWN)
    operator, chain = node_chain(album, model, engine)
    await engine.start()
    try:
        await make_ready(operator)
        for seq in range(frames):
            call = Call(Decision(model[0]), Urgency(1e9))
            picture = cv2.imread(str(album / f"{seq % 120}.png"))
            yield (await ask(operator, make_frame(seq, seq / 10, picture, "cam"), (), call)).regions
            chain.published(so_far())
            await asyncio.sleep(0.01)  # audits and the opening have their turn
    finally:
        await chain.close(10.0)
        await engine.stop()


async def test_caches_built_into_a_variant_answer_where_it_answers_and_say_what_the_oracle_says(album):
    found = caches_built(album)
    assert found.plan.variant == INT8
    items = prepared(ENTRY, Shown.of(album), silent)
    whole = whole_of(ENTRY).opened()
    oracle = [ENTRY.card.classes[int(whole.run(items[at : at + 1])[0].argmax())] for at in range(120)]
    whole.close()
    by, seq = [], 0
    async for (region,) in shown(album, [INT8], MOST):
        (said,) = region.attributes
        by.append((said.provenance, said.model.variant))
        if said.provenance == "cached":
            assert said.label in (oracle[seq % 120], "unknown")
        seq += 1
        if [provenance for provenance, _ in by].count("cached") > 20:
            break
    assert list(dict.fromkeys(provenance for provenance, _ in by))[:3] == ["oracle", "variant", "cached"]
    places = range(1, len(found.built.caches.caches) + 1)
    variants = {variant for provenance, variant in by if provenance == "cached"}
    assert variants <= {f"onnxruntime-int8+cached@{place}" for place in places}
    assert {variant for provenance, variant in by if provenance == "variant"} == {"onnxruntime-int8"}


@pytest.mark.parametrize(
    ("model", "links"),
    [
        ([INT8], [Caches, VariantShortcut]),
        (["vehicle-colour", INT8], [Caches, Caches, VariantShortcut]),
        (["vehicle-colour", "vehicle-colour@openvino-int8"], [Caches, VariantShortcut]),
    ],
    ids=["variant", "both", "another variant"],
)
async def test_a_node_has_the_caches_of_what_it_lists(album, model, links):
    caches_built(album)
    assert links_of(album, model) == links


async def test_caches_for_another_calibration_are_told_in_one_line_and_not_used(album, caplog):
    file = caches_built(album).file
    items = prepared(ENTRY, Shown.of(album), silent)
    build(ENTRY, parse(INT8), album.parent / "cache", Calibration(items[:8] / 2, "other"))
    assert links_of(album, [INT8]) == [VariantShortcut]
    (line,) = [record.getMessage() for record in caplog.records if str(file) in record.getMessage()]
    assert line.startswith(
        f"{file}: made for other weights, or another input, than here, not for {INT8}; build them with"
    )
    assert line.endswith("sluice caches build vehicle-colour; they are not used")
