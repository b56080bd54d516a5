"""Caches whose answers go out early: who answers when, what is compared, what it costs, and what waits."""

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
from learning.purse import Purse
from operators.audits.snapshot import NodeSnapshot
from operators.frames.frame import Region
from operators.observer import Observer
from operators.recognise.cached.cache_network import CacheNetwork
from operators.recognise.cached.released import MOST_RUNS
from operators.recognise.cached.supply import PATIENCE
from operators.recognise.chain import Chain
from operators.recognise.objects.objects import Objects
from operators.recognise.terms import ChainTerms, Listeners
from operators.testing import call, so_far
from operators.testing.shortcut_checks import SHORTCUT_CHECKS, Case, Check, CheckedShortcut
from operators.wire.adaptation import Disagreement
from serving.errors import SluiceError
from tests.operators.recognise.cached.paints import (
    BLUE,
    CUTS,
    MURKY,
    RED,
    Builder,
    World,
    built,
    looked,
    ready,
    scene,
    word,
)
from tests.operators.recognise.cached.test_caches import FRAMES, HEARD, SERVES
from tests.operators.recognise.cached.test_caches_in_a_variant import confused

ASKED = call("oracle")
TRUSTED = AuditState(phase="trusted", edition=1)


class Told(Observer):
    """Hears of audits."""

    def __init__(self) -> None:
        self.agreed: list[bool] = []
        self.disagreements: list[Disagreement] = []

    def audit_done(self, stream: str, node: str, kind: str, agrees: bool) -> None:
        self.agreed.append(agrees)

    def audit_disagreed(self, of: Disagreement, picture: np.ndarray) -> None:
        self.disagreements.append(of)


class Gate:
    """Runs on until it is opened, or fails."""

    def __init__(self) -> None:
        self.event, self.waiting = asyncio.Event(), 0

    async def __call__(self) -> None:
        self.waiting += 1
        await self.event.wait()


async def settle() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


def trusting(chain: Chain) -> None:
    chain.restore("cam", NodeSnapshot(audits={"cached": TRUSTED}).to_json())


class Node:
    """A chain with released caches that have proven themselves; every look is an answer unless it has ``tracks``."""

    def __init__(
        self,
        directory: Path,
        caches: BuiltCaches | None = None,
        tracks: bool = False,
        purse: Callable[[], Purse] | None = None,
    ) -> None:
        given = {} if purse is None else {"purse": purse}
        self.world, self.told = World(directory, caches or built(), releases=True, **given), Told()
        objects = Objects(self.world.recogniser) if tracks else None
        terms = ChainTerms(Rule(0.5), Listeners(lambda stream: None, self.told), self.world.books)
        self.chain = Chain("paint", [self.world.caches], self.world.oracle, terms, objects)
        self.seq = 0

    async def frame(self, *colours: tuple[int, int, int]) -> list[Region]:
        frame, regions = scene(*colours, seq=self.seq)
        self.seq += 1
        await self.chain.process(frame, regions, ASKED)
        self.chain.published(so_far())
        return regions

    @property
    def seconds(self):
        return self.world.books.of("cam").seconds

    def plan(self):
        (plan,) = self.chain.plans()["cam"]
        return plan


async def ready_node(directory: Path, **given) -> Node:
    node = Node(directory, **given)
    await node.chain.prepare()
    trusting(node.chain)
    return node


@pytest.mark.parametrize("check", SHORTCUT_CHECKS, ids=lambda check: check.__name__)
async def test_released_caches_are_a_shortcut(check: Check, tmp_path: Path):
    def make() -> CheckedShortcut:
        world = World(tmp_path, built(), releases=True)
        world.supply.network = CacheNetwork(world.sampled, "oracle", CUTS, releases=True)
        world.supply.network.answer_with(built())
        return CheckedShortcut(world.caches, world.oracle)

    await check(Case(make, lambda seq: scene(BLUE, RED, seq=seq), frames=5))


async def test_answers_are_there_while_the_oracle_runs_on(tmp_path):
    node = await ready_node(tmp_path)
    node.world.engine.runs_on = gate = Gate()
    regions = await node.frame(BLUE, RED)
    assert [word(region) for region in regions] == [("blue", "cached"), ("red", "cached")]
    assert [region.attributes[-1].model.variant for region in regions] == ["cached@1"] * 2
    await settle()
    assert gate.waiting == 1
    assert node.told.agreed == [], "the oracle has not said anything yet"
    gate.event.set()
    await settle()
    assert node.told.agreed == [True, True]
    assert node.plan().audits == 2
    assert [model for model, _, _ in node.world.engine.asked] == ["oracle+exits"], "the oracle ran once"


async def test_where_one_object_goes_through_all_have_the_oracles_own_answer(tmp_path):
    node = await ready_node(tmp_path)
    regions = await node.frame(BLUE, MURKY, RED)
    assert [word(region) for region in regions] == [("blue", "oracle"), ("blue", "oracle"), ("red", "oracle")]
    assert [model for model, _, _ in node.world.engine.asked] == ["oracle+exits"]
    await node.frame(BLUE)
    await settle()
    assert (node.plan().shortcut_share, node.plan().audits) == (0.25, 1), "what was not published is no audit"


async def test_each_early_answer_that_is_wrong_is_found_and_told(tmp_path):
    node = await ready_node(tmp_path, caches=confused())
    for _ in range(3):
        await node.frame(BLUE, RED)
        await settle()
    assert node.told.agreed == [False] * 6
    assert [(each.oracle.found[0].label, each.in_shadow) for each in node.told.disagreements[:2]] == [
        ("blue", False),
        ("red", False),
    ]


async def test_wrong_caches_are_switched_off_and_the_oracle_answers(tmp_path):
    node = await ready_node(tmp_path, caches=confused())
    for _ in range(40):
        regions = await node.frame(BLUE, RED)
        await settle()
    assert node.plan().phase == "off"
    assert [word(region) for region in regions] == [("blue", "oracle"), ("red", "oracle")]


async def test_a_run_that_fails_later_costs_the_comparison_only(tmp_path, caplog):
    node = await ready_node(tmp_path)

    async def fails() -> None:
        raise SluiceError("the device is gone")

    node.world.engine.runs_on = fails
    for _ in range(2):
        regions = await node.frame(BLUE, RED)
        await settle()
        assert [word(region) for region in regions] == [("blue", "cached"), ("red", "cached")]
    assert (node.plan().audits, node.plan().given_up) == (0, 4)
    assert node.world.caches.edition("cam") == 1, "they go on answering"
    assert caplog.text.count("cannot be compared: the device is gone") == 1


async def test_a_run_that_fails_before_it_answers_leaves_the_oracle_by_itself(tmp_path, caplog):
    node = await ready_node(tmp_path)
    infer = node.world.engine.infer

    async def refused(model, batch, urgency, early=None):
        if model == "oracle+exits":
            raise SluiceError("a kernel is missing")
        return await infer(model, batch, urgency)

    node.world.engine.infer = refused
    regions = await node.frame(BLUE, RED)
    assert [word(region) for region in regions] == [("blue", "oracle"), ("red", "oracle")]
    assert "no caches: a kernel is missing" in caplog.text


async def test_a_frame_that_is_given_up_takes_its_request_along(tmp_path):
    world = await ready(World(tmp_path, built(), releases=True))
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def endless(model, batch, urgency, early=None):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    world.engine.infer = endless
    frame, regions = scene(BLUE)
    task = asyncio.create_task(world.caches.answer(frame, regions, ASKED))
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.wait_for(cancelled.wait(), 10)


async def test_nothing_is_saved_and_what_it_costs_is_told(tmp_path):
    node = await ready_node(tmp_path)
    for _ in range(10):
        await node.frame(BLUE, RED)
        await node.frame(BLUE, MURKY)
        await settle()
    seconds, extra = node.seconds, 40 * 0.001
    assert (seconds.avoided, seconds.shortcuts) == (0.0, 0.0)
    assert seconds.oracle == pytest.approx(40 * 0.0105)
    assert seconds.early == pytest.approx(extra)
    assert seconds.saved == pytest.approx(-extra)
    assert node.plan().early_s == pytest.approx(extra)
    assert node.world.books.purse.saved_s == 0.0, "the query asked for it"
    assert node.plan().shortcut_share == 0.5


async def test_comparing_costs_nothing_so_an_empty_purse_is_no_reason_to_be_silent(tmp_path):
    node = await ready_node(tmp_path, purse=lambda: Purse(lambda: 0.0))
    assert word((await node.frame(BLUE))[0]) == ("blue", "cached")
    await settle()
    assert node.told.agreed == [True]


async def test_tracked_objects_are_answered_for_only_where_their_audits_can_be_paid(tmp_path):
    node = await ready_node(tmp_path, tracks=True, purse=lambda: Purse(lambda: 0.0))
    await node.frame(BLUE)
    assert [model for model, _, _ in node.world.engine.asked] == ["oracle"]


async def test_a_look_that_seems_cheaper_with_caches_is_no_saving(tmp_path):
    node = await ready_node(tmp_path)
    node.world.engine.costs_s["oracle+exits"] = 0.009
    await node.frame(BLUE, RED)
    assert (node.seconds.early, node.seconds.saved) == (0.0, 0.0)


async def test_caches_stay_however_little_they_answer(tmp_path):
    world = await ready(World(tmp_path, built(threshold=0.0), releases=True))
    world.engine.costs_s["oracle+exits"] = 0.02
    await looked(world, int(3 * PATIENCE / 20))
    assert world.caches.edition("cam") == 1


async def test_until_it_is_known_what_a_look_costs_the_oracle_answers_by_itself(tmp_path):
    node = await ready_node(tmp_path)
    cost_s = node.world.engine.costs_s.pop("oracle")
    regions = await node.frame(BLUE)
    assert word(regions[0]) == ("blue", "oracle")
    assert node.world.engine.asked[-1][0] == "oracle"
    frame, regions = scene(BLUE, RED)
    assert await node.world.caches.listen(frame, regions, ASKED) is None
    node.world.engine.costs_s["oracle"] = cost_s
    assert word((await node.frame(BLUE))[0]) == ("blue", "cached")


async def test_they_prove_themselves_in_the_oracles_own_run_first(tmp_path):
    node = Node(tmp_path)
    await node.chain.prepare()
    said = []
    while not said or (said[-1] == "oracle" and len(said) < 50):
        said.append(word((await node.frame(BLUE, RED))[0])[1])
        await settle()
    assert said[0] == "oracle"
    assert said[-1] == "cached"
    assert {model for model, _, _ in node.world.engine.asked} == {"oracle+exits"}


async def test_tracked_objects_are_audited_by_looks_of_their_own(tmp_path):
    node = await ready_node(tmp_path, tracks=True)
    node.world.engine.runs_on = Gate()
    regions = await node.frame(BLUE, RED)
    assert [region.attributes[-1].label for region in regions] == ["blue", "red"]
    node.world.engine.runs_on.event.set()
    await settle()
    assert node.told.agreed == [], "what is compared is what all looks at an object say"


async def test_no_more_runs_are_released_than_are_kept(tmp_path):
    node = await ready_node(tmp_path)
    node.world.engine.runs_on = gate = Gate()
    for _ in range(MOST_RUNS):
        assert word((await node.frame(BLUE))[0]) == ("blue", "cached")
    assert word((await node.frame(BLUE))[0]) == ("blue", "oracle")
    gate.event.set()
    await settle()
    assert word((await node.frame(BLUE))[0]) == ("blue", "cached")


async def test_closing_does_not_wait_for_runs_and_their_answers_are_not_compared(tmp_path):
    node = await ready_node(tmp_path)
    node.world.engine.runs_on = Gate()
    await node.frame(BLUE, RED)
    await node.chain.close(1)
    await settle()
    assert (node.plan().audits, node.plan().given_up) == (0, 2)


async def test_a_stream_that_is_gone_when_its_run_ends_harms_nobody(tmp_path):
    node = await ready_node(tmp_path)
    node.world.engine.runs_on = gate = Gate()
    await node.frame(BLUE, RED)
    node.chain.forget("cam")
    gate.event.set()
    await settle()
    assert node.told.agreed == [True, True]


async def test_the_nodes_own_looks_make_caches_and_go_on_being_samples(tmp_path):
    builder = Builder(SERVES)
    world = await ready(World(tmp_path, None, builder, releases=True))
    await looked(world, FRAMES + HEARD)
    assert world.caches.edition("cam") == 1
    labels = tmp_path / "samples" / "labels.npy"
    before, asked = (np.load(labels) >= 0).sum(), len(world.engine.asked)
    await looked(world, 3)
    await world.caches.settled()
    assert (np.load(labels) >= 0).sum() == before + 3 * 20, "each look is one: all ran to the end"
    assert {model for model, _, _ in world.engine.asked[asked:]} == {"oracle+exits"}


async def test_what_the_oracle_is_not_sure_of_is_compared_as_it_is_published(tmp_path):
    node = await ready_node(tmp_path)
    node.world.recogniser._min_confidence = 1.01
    regions = await node.frame(BLUE)
    await settle()
    assert word(regions[0]) == ("unknown", "cached")
    assert node.told.agreed == [True]


async def test_streams_share_caches_and_each_has_its_own_account(tmp_path):
    node = await ready_node(tmp_path)
    frame, regions = scene(BLUE)
    other = replace(frame, header=msgspec.structs.replace(frame.header, stream="other"))
    await node.chain.process(other, regions, ASKED)
    assert word(regions[0]) == ("blue", "oracle"), "nothing is proven there"
    assert word((await node.frame(BLUE))[0]) == ("blue", "cached")
