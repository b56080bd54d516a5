"""Caches whose answers are released, in a node of a query: a real network, a real device, real pictures."""

from __future__ import annotations

import asyncio

import cv2

from cache_adapt.audit.state import Rule
from learning.purse import unlimited
from operators.base import Call, ask
from operators.decision import Decision
from operators.testing import make_frame, so_far
from pipelines.assembly.environment import Audits, Environment, Training
from pipelines.assembly.node import nodes
from pipelines.assembly.registry import Shortcuts
from pipelines.environment import backend
from pipelines.measure.cache_building import CacheBuildRequest, build_caches
from pipelines.measure.tapped_pictures import prepared, whole_of
from pipelines.measure.template_data import Shown
from pipelines.query.dag import compile_dag
from pipelines.query.query_file import Query
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.scheduling.requests import Urgency
from specialization.trainer.trainer import ThreadSpecializer
from tests.pipelines.measure.alike import build_quickly, silent, slow, write_pictures

KNOWN = Catalogue([SHIPPED])
ENTRY = KNOWN.find("vehicle-type-compact")
TARGET = 0.6
MOST, WANTED = 600, 40
"""Frames that are shown at most; early answers after which no more are."""


async def test_early_answers_are_compared_with_what_the_oracle_itself_says_in_the_same_run(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    build_quickly(monkeypatch, steps=400)
    slow(monkeypatch, 2.0)
    (tmp_path / "album").mkdir()
    album = write_pictures(tmp_path / "album")
    assert (
        build_caches(ENTRY, CacheBuildRequest(Shown.of(album), TARGET, tmp_path / "cache"), silent).plan.variant
        == ENTRY.card.name
    )
    items = prepared(ENTRY, Shown.of(album), silent)
    whole = whole_of(ENTRY).opened()
    oracle = [ENTRY.card.classes[int(whole.run(items[at : at + 1])[0].argmax())] for at in range(120)]
    whole.close()

    node = {"name": "kind", "task": "recognise", "input": "frame", "model": ENTRY.card.name, "caches": "release"}
    given = {"version": 1, "name": "test", "slo_ms": 1000, "streams": [{"id": "cam", "uri": str(album)}]}
    query = Query.model_validate({**given, "nodes": [node]})
    shortcuts, training = Shortcuts("test"), Training(KNOWN, [album], ThreadSpecializer(), tmp_path / "samples")
    engine = backend(KNOWN)
    environment = Environment(engine, Audits(shortcuts, Rule(TARGET), training, unlimited()))
    await engine.start()
    try:
        operator = (await nodes(compile_dag(query), environment))["kind"]
        chain, early = shortcuts.nodes["kind"], 0
        for seq in range(MOST):
            call = Call(Decision(ENTRY.card.name), Urgency(1e9))
            picture = cv2.imread(str(album / f"{seq % 120}.png"))
            (region,) = (await ask(operator, make_frame(seq, seq / 10, picture, "cam"), (), call)).regions
            chain.published(so_far())
            await asyncio.sleep(0)
            (said,) = region.attributes
            if said.provenance == "cached":
                early += 1
                assert said.model.variant.startswith("cached@")
                assert said.label in (oracle[seq % 120], "unknown")
            if early == WANTED:
                break
        for link in chain.links:
            await link.settled()
        await asyncio.sleep(0)
        (plan,) = chain.plans()["cam"]
    finally:
        await chain.close(10.0)
        await engine.stop()
    assert early == WANTED
    assert plan.phase == "trusted"
    assert plan.early_s is not None
    assert (plan.unsampled, plan.given_up) == (0, 0)
    assert plan.audits >= early, "each is an audit"
    assert plan.agreement.found is not None
    assert plan.agreement.found > TARGET
