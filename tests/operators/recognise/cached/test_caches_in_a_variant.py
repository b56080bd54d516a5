"""Learned caches inside a variant: they answer where it may, and are compared with the oracle, not with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cache_adapt.audit.state import AuditState, Rule
from cache_adapt.caches.store import BuiltCaches
from learning.purse import Purse, unlimited
from operators.audits.roles import Roles
from operators.audits.snapshot import NodeSnapshot
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Region
from operators.recognise.account.books import Books
from operators.recognise.cached.cache_source import CacheSource
from operators.recognise.cached.caches import Caches
from operators.recognise.cached.supply import PATIENCE, TAPPED, CacheSupply
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.objects.objects import Objects
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.variant import VariantShortcut
from operators.recognise.terms import ChainTerms
from operators.testing import FakeEngine, call, so_far
from operators.wire.schema import NodePlan
from serving.errors import ModelError
from tests.operators.recognise.cached.paints import (
    BLUE,
    MURKY,
    ORACLE_CARD,
    RED,
    Builder,
    built,
    named,
    scene,
    word,
)

INT8, OPENED = "oracle@onnxruntime-int8", "oracle@onnxruntime-int8+exits"
KEY = f"cached {INT8}"
TRUSTED = AuditState(phase="trusted", rest=1000)
MOST = 400
"""Frames within which everybody has proven himself."""


def confused() -> BuiltCaches:
    """Caches that are sure and wrong."""
    good = built(threshold=1.1)
    weights, bias = good.caches[0].predictor.output
    wrong = replace(good.caches[0].predictor, output=(np.roll(weights, 1, axis=1), bias))
    return BuiltCaches(good.card, (replace(good.caches[0], predictor=wrong), good.caches[1]))


class Node:
    """A node that lists a variant of the oracle, into which caches were built."""

    def __init__(
        self,
        directory: Path,
        caches: BuiltCaches | None = None,
        rule: Rule | None = None,
        purse: Callable[[], Purse] = unlimited,
        tracks: bool = False,
        listed: tuple[str, ...] = (INT8,),
    ) -> None:
        self.engine = FakeEngine(**{"oracle": (ORACLE_CARD, named), INT8: (ORACLE_CARD, named)})
        self.engine.costs_s = {"oracle": 0.010, INT8: 0.0030, OPENED: 0.0015}
        recogniser = Classifier(self.engine, Roles.of(listed, self.engine.card), "paint")
        self.books = Books("oracle", UnitCosts(self.engine), purse())
        variant = VariantShortcut(recogniser, INT8, self.books.costs)
        source = CacheSource(caches or built(), list, lambda: Builder(None), directory, 0.5, variant=INT8)
        self.supply = CacheSupply(self.engine, None, recogniser, source, self.books)
        self.caches, self.oracle = Caches(recogniser, self.supply, variant.key), Oracle(recogniser)
        objects = Objects(recogniser) if tracks else None
        self.chain = Chain(
            "paint", [self.caches, variant], self.oracle, ChainTerms(rule or Rule(0.5), books=self.books), objects
        )
        self.seq = 0

    async def frame(self, *colours: tuple[int, int, int], model: str = INT8, first: int = 0) -> list[Region]:
        """One frame; ``first``: the number of its first track."""
        frame, regions = scene(*colours, seq=self.seq)
        regions = [replace(region, track_id=first + place) for place, region in enumerate(regions)]
        await self.chain.process(frame, regions, call(model))
        self.chain.published(so_far())
        await self.supply.settled()
        for _ in range(12):
            await asyncio.sleep(0)
        self.seq += 1
        return regions

    def trusting(self) -> None:
        """The variant has proven itself."""
        self.chain.restore("cam", NodeSnapshot(audits={"variant": TRUSTED}).to_json())

    def asked(self, since: int = 0) -> list[str]:
        return [model for model, _, _ in self.engine.asked[since:]]

    def plans(self) -> dict[str, NodePlan]:
        return {plan.kind: plan for plan in self.chain.plans().get("cam", [])}

    def phase(self) -> str | None:
        return plan.phase if (plan := self.plans().get("cached")) else None


async def ready(node: Node) -> Node:
    await node.chain.prepare()
    return node


async def test_the_variant_proves_itself_first_then_its_caches_and_then_both_answer(tmp_path):
    node, seen = await ready(Node(tmp_path)), []
    while not seen or seen[-1] != ["cached", "variant", "cached"]:
        regions = await node.frame(BLUE, MURKY, RED)
        assert [word(region)[0] for region in regions] == ["blue", "blue", "red"]
        assert [len(region.attributes) for region in regions] == [1, 1, 1]
        now = [word(region)[1] for region in regions]
        if now == ["oracle"] * 3:
            assert OPENED not in node.engine.loaded, "the variant may never be trusted"
            why = "learned caches are not used: their network is opened when that can be paid"
            assert node.plans()["cached"].reason == why
        if not seen or seen[-1] != now:
            seen.append(now)
        assert node.seq < MOST
    assert seen == [["oracle"] * 3, ["variant"] * 3, ["cached", "variant", "cached"]]
    before = len(node.engine.asked)
    regions = await node.frame(BLUE, MURKY, RED)
    assert node.asked(before)[:1] == [OPENED]
    assert INT8 not in node.asked(before)
    models = [region.attributes[0].model for region in regions]
    where = "onnxruntime-int8+cached@1"
    assert [model.variant for model in models] == [where, "onnxruntime-int8", where]
    assert (models[0].name, models[0].tier, models[0].version) == ("oracle", "cached", "1")
    plans = node.plans()
    assert {kind: (plan.shortcuts, plan.oracle) for kind, plan in plans.items()} == {
        "cached": ([INT8], "oracle"),
        "variant": ([INT8], "oracle"),
    }
    assert set(msgspec.json.decode(node.chain.snapshot("cam"))["audits"]) == {"variant", KEY}
    await node.chain.close(10)


async def test_the_proof_runs_in_the_variants_own_network_and_the_oracle_looks_behind_it(tmp_path):
    node = await ready(Node(tmp_path, rule=Rule(0.9)))
    node.trusting()
    await node.frame(BLUE)  # opens it
    before, spent = len(node.engine.asked), node.books.of("cam").seconds.shadow
    regions = await node.frame(BLUE, MURKY, RED)
    assert [word(region)[1] for region in regions] == ["variant"] * 3
    asked = node.asked(before)
    assert asked[0] == OPENED
    assert asked[1:].count("oracle") == len(asked) - 1 >= 2, "about what the caches said, and the variant's own audits"
    assert node.plans()["cached"].audits == 2, "of what goes through they have said nothing"
    assert node.books.of("cam").seconds.shadow - spent >= 3 * TAPPED * 0.0035 - 1e-9, "lookups come on top"
    await node.chain.close(10)


async def test_what_goes_through_is_the_variants_answer_and_is_audited_as_that(tmp_path):
    node = await ready(Node(tmp_path, rule=Rule(0.5, rate=1.0, probation_rate=1.0)))
    node.trusting()
    while (await node.frame(BLUE))[0].attributes[0].provenance != "cached":
        assert node.seq < MOST
    before = {kind: (plan.answers, plan.audits) for kind, plan in node.plans().items()}
    for _ in range(5):
        await node.frame(BLUE, MURKY, MURKY)
    now = {kind: (plan.answers, plan.audits) for kind, plan in node.plans().items()}
    assert [now["cached"][place] - before["cached"][place] for place in (0, 1)] == [15, 5]
    assert [now["variant"][place] - before["variant"][place] for place in (0, 1)] == [15, 10]
    await node.chain.close(10)


async def test_all_that_the_oracle_was_spared_and_what_it_took_is_in_the_books(tmp_path):
    node = await ready(Node(tmp_path))
    node.trusting()
    while (await node.frame(BLUE))[0].attributes[0].provenance != "cached":
        assert node.seq < MOST
    seconds = node.books.of("cam").seconds
    avoided, shortcuts, oracle = seconds.avoided, seconds.shortcuts, seconds.oracle
    await node.frame(BLUE, MURKY, RED)
    assert seconds.avoided - avoided == pytest.approx(3 * 0.0105)
    assert seconds.shortcuts - shortcuts == pytest.approx(3 * 0.0020)
    assert seconds.oracle == oracle
    await node.chain.close(10)


async def test_while_caches_listen_the_books_say_what_the_variant_takes(tmp_path):
    node = await ready(Node(tmp_path, rule=Rule(0.9)))
    node.trusting()
    await node.frame(BLUE)
    seconds = node.books.of("cam").seconds
    avoided, shortcuts = seconds.avoided, seconds.shortcuts
    await node.frame(BLUE, MURKY, RED)
    assert seconds.avoided - avoided == pytest.approx(3 * 0.0105)
    assert seconds.shortcuts - shortcuts == pytest.approx(3 * 0.0035)
    await node.chain.close(10)


async def test_a_variant_that_has_not_run_by_itself_yet_is_taken_to_cost_what_the_oracle_costs(tmp_path):
    node = await ready(Node(tmp_path, rule=Rule(0.9)))
    node.trusting()
    del node.engine.costs_s[INT8]
    await node.frame(BLUE)
    seconds = node.books.of("cam").seconds
    shortcuts = seconds.shortcuts
    await node.frame(BLUE, MURKY, RED)
    assert seconds.shortcuts - shortcuts == pytest.approx(3 * 0.0105)
    await node.chain.close(10)


@pytest.mark.parametrize("tracks", [False, True], ids=["looks", "tracks"])
async def test_caches_that_are_wrong_are_switched_off_and_the_variant_goes_on(tmp_path, tracks):
    node, first = await ready(Node(tmp_path, confused(), Rule(0.9), tracks=tracks)), 0
    node.trusting()
    while node.phase() != "off":
        for _ in range(20 if tracks else 1):
            regions = await node.frame(BLUE, RED, first=first)
        assert [word(region)[0] for region in regions] == ["blue", "red"]
        first += 2
        assert node.seq < 20 * MOST
    assert node.plans()["variant"].phase != "off"
    assert "agrees too seldom" in node.plans()["cached"].switch_offs[-1].reason
    await node.chain.close(10)


async def test_tracks_are_answered_by_caches_that_have_proven_themselves(tmp_path):
    node, first = await ready(Node(tmp_path, tracks=True)), 0
    node.trusting()
    while node.phase() != "trusted":
        for _ in range(20):
            regions = await node.frame(BLUE, RED, first=first)
            assert {word(region)[1] for region in regions} == {"track"}
            assert {region.attributes[0].looked for region in regions} <= {"variant", "cached", None}
        first += 2
        assert node.seq < 20 * MOST
    assert node.plans()["cached"].audits >= 3
    regions = await node.frame(BLUE, RED, first=first)
    assert [region.attributes[0].looked for region in regions] == ["cached", "cached"]
    await node.chain.close(10)


async def test_what_cannot_be_paid_is_neither_opened_nor_heard(tmp_path):
    used_s = 0.0
    node = await ready(Node(tmp_path, rule=Rule(0.9), purse=lambda: Purse(lambda: used_s, 1.0, 0.0)))
    node.trusting()
    used_s = 0.015  # what an audit takes, and not what an opening does
    regions = await node.frame(BLUE)
    assert [word(region)[1] for region in regions] == ["variant"]
    assert OPENED not in node.engine.loaded
    used_s = 10.0
    await node.frame(BLUE)
    assert OPENED in node.engine.loaded
    assert set(node.books.purse.spent) >= {"samples"}
    used_s = node.books.purse.spent_s + 0.0106
    before = len(node.engine.asked)
    await node.frame(BLUE, RED)
    assert OPENED not in node.asked(before)


async def test_proofs_leave_the_variant_what_its_own_audit_costs(tmp_path):
    used_s = 100.0
    node = await ready(Node(tmp_path, rule=Rule(0.9, 0.001, 0.0), purse=lambda: Purse(lambda: used_s, 1.0, 0.0)))
    node.trusting()
    await node.frame(BLUE)
    used_s = node.books.purse.spent_s + 0.050
    await node.frame(*[BLUE] * 10)
    assert node.plans()["cached"].audits == 3, "four looks of 10.5 ms each it would suffice for"
    assert node.books.purse.may_spend(0.0105), "without an audit in the purse the variant could not answer"
    assert word((await node.frame(BLUE))[0]) == ("blue", "variant")


async def test_where_the_variant_may_not_answer_its_caches_do_not_either(tmp_path):
    node = await ready(Node(tmp_path))
    node.trusting()
    while (await node.frame(BLUE))[0].attributes[0].provenance != "cached":
        assert node.seq < MOST
    node.chain.restore(
        "cam", NodeSnapshot(audits={"variant": AuditState(phase="off", rest=1000), KEY: TRUSTED}).to_json()
    )
    before = len(node.engine.asked)
    assert word((await node.frame(BLUE))[0]) == ("blue", "oracle")
    assert node.asked(before) == ["oracle"]
    assert not node.caches.is_planned(call("oracle"))
    await node.chain.close(10)


async def test_caches_that_cost_more_than_they_save_the_variant_are_left(tmp_path):
    node = await ready(Node(tmp_path, built(threshold=0.05)))
    node.trusting()
    while (await node.frame(BLUE))[0].attributes[0].provenance != "cached":
        assert node.seq < MOST
    node.engine.costs_s[OPENED] = 0.004  # cheaper than the oracle, dearer than the variant
    frames = 0
    while word((await node.frame(BLUE))[0])[1] == "cached":
        frames += 1
        assert frames < MOST
    assert frames == pytest.approx(PATIENCE * 3.5 / 1, abs=2)
    assert word((await node.frame(BLUE))[0]) == ("blue", "variant")
    await node.chain.close(10)


async def test_a_variant_that_cannot_be_cut_answers_without_caches(tmp_path, caplog):
    node = await ready(Node(tmp_path))
    load = node.engine.load

    async def refused(model: str) -> float:
        if model == OPENED:
            raise ModelError("there can be no exit at 'early'")
        return await load(model)

    node.engine.load = refused
    node.trusting()
    for _ in range(5):
        assert word((await node.frame(BLUE))[0]) == ("blue", "variant")
    assert caplog.text.count(f"{INT8}: no caches: there can be no exit at 'early'") == 1
    await node.chain.close(10)


async def test_where_the_opened_variant_fails_the_variant_answers_by_itself(tmp_path):
    node = await ready(Node(tmp_path))
    node.trusting()
    while (await node.frame(BLUE))[0].attributes[0].provenance != "cached":
        assert node.seq < MOST
    infer = node.engine.infer

    async def refused(model, batch, urgency):
        if model == OPENED:
            raise ModelError("a kernel is missing")
        return await infer(model, batch, urgency)

    node.engine.infer = refused
    frame, regions = scene(BLUE)
    answer = await node.chain.process(frame, regions, call(INT8))
    assert word(regions[0]) == ("blue", "variant")
    assert answer.declined == {"cached": f"{INT8} does not run with its caches"}
    await node.chain.close(10)
