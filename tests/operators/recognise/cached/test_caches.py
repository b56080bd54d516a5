"""Learned caches as a link of a chain: who answers, what it costs, and when caches are built and left."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from cache_adapt.caches.job import CachesAnswer, CachesJob
from cache_adapt.caches.store import BuiltCaches
from learning.purse import Purse
from operators.recognise.cached.building import OPENING_S
from operators.recognise.cached.hearing import ENOUGH
from operators.recognise.cached.made_here import EVERYWHERE, LEAST_SAMPLES, PLACE_S
from operators.recognise.cached.own_samples import CAPACITY, OwnTaps
from operators.recognise.cached.sampled_engine import EVERY
from operators.recognise.cached.supply import PATIENCE, TAPPED
from operators.recognise.chain import Chain
from operators.recognise.terms import ChainTerms
from operators.testing import call, scores, so_far
from operators.testing.shortcut_checks import SHORTCUT_CHECKS, Case, Check, CheckedShortcut
from serving.engines.exits import ExitOutputs
from serving.errors import ModelError
from serving.scheduling.requests import BACKGROUND, Urgency
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

SERVES = CachesAnswer(caches=base64.b64encode(built().to_bytes()).decode(), processor_s=1.25)
ASKED = call("oracle")
LOOKS = 20
"""In a frame, all of one batch."""
FRAMES = EVERY * (LEAST_SAMPLES // LOOKS + 1)
"""After so many there are enough samples."""
HEARD = EVERY * (ENOUGH // LOOKS + 1)
"""After so many more, new caches have heard enough."""


@pytest.mark.parametrize("check", SHORTCUT_CHECKS, ids=lambda check: check.__name__)
async def test_caches_are_a_shortcut(check: Check, tmp_path: Path):
    count = 0

    class Prepared(World):
        def __init__(self) -> None:
            nonlocal count
            count += 1
            super().__init__(tmp_path / str(count), built())

    def make() -> CheckedShortcut:
        world = Prepared()
        network = world.supply
        from operators.recognise.cached.cache_network import CacheNetwork

        network.network = CacheNetwork(world.sampled, "oracle", CUTS)
        network.network.answer_with(built())
        return CheckedShortcut(world.caches, world.oracle)

    await check(Case(make, lambda seq: scene(BLUE, MURKY, RED, seq=seq), frames=5))


async def test_sure_caches_answer_and_the_rest_has_the_oracles_own_answer(tmp_path):
    world = await ready(World(tmp_path, built()))
    frame, regions = scene(BLUE, MURKY, RED)
    turn = await world.caches.answer(frame, regions, ASKED)
    assert [word(region) for region in turn.answered] == [("blue", "cached"), ("red", "cached")]
    assert world.caches.why_silent() is None
    assert [region for region, _ in turn.finished] == turn.rest == [regions[1]]
    assert (turn.finished[0][1].label, turn.finished[0][1].provenance) == ("blue", "oracle")
    model = turn.answered[0].attributes[-1].model
    assert (model.name, model.version, model.variant) == ("oracle", "1", "cached@1")


async def test_in_a_chain_the_oracle_is_not_asked_again(tmp_path):
    world = await ready(World(tmp_path, built()))
    rule = Rule(0.5, probation_rate=1.0)
    chain = Chain("paint", [world.caches], world.oracle, ChainTerms(rule, books=world.books))
    cached = 0
    for seq in range(60):
        frame, regions = scene(BLUE, MURKY, RED, seq=seq)
        before = [model for model, _, _ in world.engine.asked]
        await chain.process(frame, regions, ASKED)
        asked = [model for model, _, _ in world.engine.asked][len(before) :]
        said = [word(region) for region in regions]
        assert [label for label, _ in said] == ["blue", "blue", "red"]
        assert [len(region.attributes) for region in regions] == [1, 1, 1]
        if said[0][1] == "cached":
            cached += 1
            assert asked == ["oracle+exits"]
            assert said[1][1] == "oracle"
        chain.published(so_far())
        for _ in range(8):
            await asyncio.sleep(0)
    await chain.close(10)
    assert cached > 0
    seconds = world.books.of("cam").seconds
    # Of each frame of three looks, at 6.5 ms, the oracle's 10.5 ms are avoided twice; the third would be spent anyway.
    assert seconds.avoided == pytest.approx(cached * 2 * 0.0105)
    assert seconds.shortcuts == pytest.approx(cached * (3 * 0.0065 - 0.0105))


async def test_a_plan_for_another_model_is_not_for_caches(tmp_path):
    world = await ready(World(tmp_path, built()))
    assert world.caches.is_planned(call("oracle"))
    assert not world.caches.is_planned(call("oracle@onnxruntime-int8"))


async def test_without_caches_nothing_is_answered_and_there_is_no_edition(tmp_path):
    world = await ready(World(tmp_path, None))
    frame, regions = scene(BLUE, RED)
    turn = await world.caches.answer(frame, regions, ASKED)
    assert (turn.answered, list(turn.rest), turn.finished) == ((), regions, ())
    assert world.caches.edition("cam") is None


async def test_an_oracle_that_cannot_be_cut_answers_by_itself(tmp_path, caplog):
    world = World(tmp_path, built())

    async def refused(model: str) -> None:
        raise ModelError("there can be no exit at 'early'")

    world.engine.load = refused
    await world.caches.prepare()
    assert "no caches: there can be no exit" in caplog.text
    assert world.caches.why_silent() == "learned caches are not used: there can be no exit at 'early'"
    frame, regions = scene(BLUE)
    assert (await world.caches.answer(frame, regions, ASKED)).rest == regions


def broken(world: World) -> None:
    """From now on the network with exits does not run; the oracle does."""
    infer = world.engine.infer

    async def refused(model: str, batch: np.ndarray, urgency: Urgency, early: object = None) -> list[np.ndarray]:
        if model == "oracle+exits":
            raise ModelError("a kernel is missing")
        return await infer(model, batch, urgency)

    world.engine.infer = refused


async def test_where_the_oracle_does_not_run_with_its_caches_it_answers_without_them(tmp_path, caplog):
    world = await ready(World(tmp_path, built()))
    broken(world)
    frame, regions = scene(BLUE, RED)
    turn = await world.caches.answer(frame, regions, call("oracle"))
    assert (turn.rest, turn.declined) == (regions, "the oracle does not run with its caches")
    assert caplog.text.count("a kernel is missing") == 1
    assert world.caches.edition("cam") is None
    assert (await world.caches.answer(frame, regions, call("oracle"))).rest == regions
    assert caplog.text.count("a kernel is missing") == 1


async def test_where_a_sample_cannot_be_taken_the_oracle_answers_and_none_is_taken_again(tmp_path, caplog):
    world = await ready(World(tmp_path, None))
    await world.supply.network.prepare()
    broken(world)
    batch = np.zeros((1, 3, 4, 4), np.float32)
    for _ in range(3 * EVERY):
        assert len(await world.sampled.infer("oracle", batch, ASKED.urgency)) == 1
    assert caplog.text.count("a kernel is missing") == 1


async def test_caches_are_built_from_the_nodes_own_looks(tmp_path):
    builder = Builder(SERVES)
    world = await ready(World(tmp_path, None, builder))
    await looked(world, FRAMES)
    assert len(builder.jobs) == 1
    job = msgspec.json.decode(builder.jobs[0], type=CachesJob)
    assert (job.model, job.classes, job.agreement) == ("oracle", 3, 0.97)
    assert [(cut.tensor, cut.until_s) for cut in job.cuts] == [
        ("early", pytest.approx(0.3 * 0.0105)),
        ("late", pytest.approx(0.7 * 0.0105)),
    ]
    assert job.untuned_at == (1,), "only the last place has a chance with few samples"
    assert world.caches.edition("cam") is None, "nobody knows yet how sure they must be"
    assert world.books.purse.spent["training"] == 1.25
    await looked(world, HEARD)
    assert world.caches.edition("cam") == 1
    before = len(world.engine.asked)
    await looked(world, 10)
    assert {model for model, _, _ in world.engine.asked[before:]} == {"oracle+exits"}


async def test_caches_from_twice_the_samples_are_made_at_all_places_and_replace_those_that_do_worse(tmp_path):
    builder = Builder(SERVES)
    world = await ready(World(tmp_path, None, builder))
    await looked(world, FRAMES + HEARD)
    assert world.caches.edition("cam") == 1
    while len(builder.jobs) == 1:  # samples come from frames in which the caches are silent
        await looked(world, 10)
    second = msgspec.json.decode(builder.jobs[1], type=CachesJob)
    assert second.untuned_at == (0, 1)
    labels = np.load(tmp_path / "samples" / "labels.npy")
    assert (labels >= 0).sum() >= EVERYWHERE
    await looked(world, 32 * (ENOUGH // LOOKS + 2))
    assert world.caches.edition("cam") == 1, "the same caches again do no better"


async def test_cutting_the_oracle_is_paid_before_the_first_sample(tmp_path):
    earned = 0.0
    world = await ready(World(tmp_path, None, purse=lambda: Purse(lambda: earned, share=1.0)))
    assert world.supply.network is not None
    earned = OPENING_S - 0.01
    await looked(world, 3 * EVERY)
    assert not world.supply.network.is_open
    earned = OPENING_S + 5.0
    await looked(world, 3 * EVERY)
    assert world.supply.network.is_open
    assert set(world.books.purse.spent) == {"samples"}


async def test_training_that_cannot_be_paid_waits(tmp_path):
    builder, earned = Builder(SERVES), OPENING_S
    world = await ready(World(tmp_path, None, builder, lambda: Purse(lambda: earned, share=1.0)))
    await looked(world, EVERY)
    earned = TAPPED * 0.0105 * (LEAST_SAMPLES + LOOKS)
    await looked(world, FRAMES + HEARD)
    earned = world.books.purse.spent_s + PLACE_S - 0.001
    await looked(world, EVERY)
    assert builder.jobs == []
    earned += 0.002
    await looked(world, EVERY)
    assert len(builder.jobs) == 1


async def test_caches_prove_themselves_within_the_oracles_own_run(tmp_path):
    world = await ready(World(tmp_path, built()))
    chain = Chain("paint", [world.caches], world.oracle, ChainTerms(Rule(0.5, probation_rate=1.0), books=world.books))
    spent, phases = [], []
    for seq in range(30):
        frame, regions = scene(BLUE, MURKY, RED, seq=seq)
        await chain.process(frame, regions, ASKED)
        chain.published(so_far())
        for _ in range(8):
            await asyncio.sleep(0)
        (plan,) = chain.plans()["cam"]
        phases.append(plan.phase)
        spent.append(world.books.of("cam").seconds.shadow)
        if phases[-1] != "shadow":
            break
        assert [word(region) for region in regions] == [("blue", "oracle"), ("blue", "oracle"), ("red", "oracle")]
        assert world.engine.asked[-1][0] == "oracle+exits"
        assert len(world.engine.asked) == seq + 1, "nothing ran beside it"
        assert plan.audits == 2 * (seq + 1), "of what it passes on it has said nothing"
    await chain.close(10)
    assert phases[-1] != "shadow"
    shadowed = len(phases)
    seconds = world.books.of("cam").seconds
    assert spent[-1] == pytest.approx(shadowed * 3 * TAPPED * 0.0105, rel=0.5)
    assert seconds.oracle == pytest.approx(shadowed * 3 * 0.0105)
    assert (seconds.avoided, seconds.shortcuts) == (0.0, 0.0)


async def test_caches_that_are_wrong_are_heard_to_be_and_never_answer(tmp_path):
    good = built(threshold=1.1)
    hidden, (weights, bias) = good.caches[0].predictor.hidden, good.caches[0].predictor.output
    wrong = replace(good.caches[0].predictor, hidden=hidden, output=(np.roll(weights, 1, axis=1), bias))
    world = await ready(
        World(tmp_path, BuiltCaches(good.card, (replace(good.caches[0], predictor=wrong), good.caches[1])))
    )
    chain = Chain("paint", [world.caches], world.oracle, ChainTerms(Rule(0.9), books=world.books))
    for seq in range(20):
        frame, regions = scene(BLUE, RED, seq=seq)
        await chain.process(frame, regions, ASKED)
        assert [word(region) for region in regions] == [("blue", "oracle"), ("red", "oracle")]
    (plan,) = chain.plans()["cam"]
    assert plan.phase == "off"
    await chain.close(10)


async def test_what_cannot_be_paid_is_not_heard_and_the_oracle_answers(tmp_path):
    world = await ready(World(tmp_path, built(), purse=lambda: Purse(lambda: 0.0)))
    frame, regions = scene(BLUE, RED)
    assert await world.caches.listen(frame, regions, ASKED) is None


async def test_where_the_oracle_does_not_run_with_its_caches_nothing_is_heard(tmp_path, caplog):
    world = await ready(World(tmp_path, built()))
    broken(world)
    frame, regions = scene(BLUE, RED)
    assert await world.caches.listen(frame, regions, ASKED) is None
    assert caplog.text.count("a kernel is missing") == 1
    assert world.caches.edition("cam") is None


async def test_samples_are_the_taps_and_the_oracles_answers(tmp_path):
    world = await ready(World(tmp_path, None))
    frame, regions = scene(BLUE, RED)
    await world.supply.network.prepare()
    for _ in range(EVERY):
        await world.oracle.answer(frame, regions, ASKED)
    assert [word(region) for region in regions] == [("blue", "oracle"), ("red", "oracle")]
    assert [model for model, _, _ in world.engine.asked] == ["oracle"] * (EVERY - 1) + ["oracle+exits"]
    assert (tmp_path / "samples" / "labels.npy").exists()
    labels = np.load(tmp_path / "samples" / "labels.npy")
    assert labels[:3].tolist() == [0, 2, -1]
    assert np.load(tmp_path / "samples" / "features.npy").shape == (CAPACITY, 6)


async def test_audits_and_other_background_work_are_not_sampled(tmp_path):
    world = await ready(World(tmp_path, None))
    batch = np.zeros((1, 3, 4, 4), np.float32)
    for _ in range(2 * EVERY):
        await world.sampled.infer("oracle", batch, BACKGROUND)
    assert {model for model, _, _ in world.engine.asked} == {"oracle"}


async def test_an_empty_purse_takes_no_samples_and_builds_nothing(tmp_path):
    builder = Builder(SERVES)
    world = await ready(World(tmp_path, None, builder, lambda: Purse(lambda: 0.0)))
    await looked(world, FRAMES)
    assert builder.jobs == []
    assert {model for model, _, _ in world.engine.asked} == {"oracle"}


async def test_an_oracle_that_is_fast_itself_gets_no_caches(tmp_path):
    builder = Builder(SERVES)
    world = await ready(World(tmp_path, None, builder))
    world.engine.costs_s["oracle"] = 0.001
    await looked(world, FRAMES)
    assert builder.jobs == []
    assert world.caches.why_silent() == (
        "learned caches are not used: a look of the oracle takes 1.50 ms of processor time, and below 3.00 ms cuts and "
        "lookups take what caches save"
    )


async def test_where_no_caches_pay_they_are_tried_again_with_twice_the_samples(tmp_path, caplog):
    builder = Builder(CachesAnswer(error="no caches pay", processor_s=1.0))
    world = await ready(World(tmp_path, None, builder))
    caplog.set_level("INFO")
    assert world.caches.why_silent() == (
        "learned caches are not used: 0 of the 500 samples are there from which they are made next"
    )
    await looked(world, FRAMES + 8)
    assert len(builder.jobs) == 1
    assert "of the 1000 samples" in str(world.caches.why_silent())
    assert "no caches pay" in caplog.text
    await looked(world, FRAMES + 8)
    assert len(builder.jobs) == 2


@pytest.mark.parametrize(
    "answer",
    [CachesAnswer(caches="!"), CachesAnswer(caches="AAAA"), CachesAnswer()],
    ids=["base64", "damaged", "empty"],
)
async def test_damaged_caches_are_refused_and_the_oracle_goes_on(tmp_path, answer, caplog):
    world = await ready(World(tmp_path, None, Builder(answer)))
    caplog.set_level("INFO")
    await looked(world, FRAMES)
    assert world.caches.edition("cam") is None
    assert "damaged" in caplog.text


async def test_caches_that_cost_more_than_they_save_are_left(tmp_path):
    world = await ready(World(tmp_path, built(threshold=0.0)))  # they never answer
    world.engine.costs_s["oracle+exits"] = 0.011
    frames = 0
    while world.caches.edition("cam") is not None and frames < 10_000:
        await looked(world, 1)
        frames += 1
    assert world.caches.why_silent() == "learned caches are not used: they cost more than they saved"
    # Each look loses 1 of 10.5 ms.
    assert frames == pytest.approx(PATIENCE * 10.5 / 20, abs=2)


async def test_caches_that_an_audit_bars_give_way_to_caches_from_more_samples(tmp_path):
    builder = Builder(SERVES)
    world = await ready(World(tmp_path, None, builder))
    await looked(world, FRAMES + HEARD)
    assert world.caches.edition("cam") == 1
    world.caches.barred("cam")
    assert world.caches.edition("cam") is None
    await looked(world, HEARD)
    assert (len(builder.jobs), world.caches.edition("cam")) == (1, 2), "first they listen to what is shown now"
    world.caches.barred("cam")
    while world.caches.edition("cam") is None:
        await looked(world, EVERY)
    assert (len(builder.jobs), world.caches.edition("cam")) == (2, 3), "then others come"


async def test_caches_from_a_file_stay_where_another_stream_bars_them(tmp_path):
    world = await ready(World(tmp_path, built()))
    world.caches.barred("cam")
    assert world.caches.edition("another") == 1


async def test_samples_that_cannot_be_written_cost_no_look(tmp_path, caplog):
    (tmp_path / "samples").write_text("a file where a directory should be")
    world = await ready(World(tmp_path, None))
    await world.supply.network.prepare()
    frame, regions = scene(BLUE)
    for _ in range(2 * EVERY):
        await world.oracle.answer(frame, regions, ASKED)
    assert [word(region) for region in regions] == [("blue", "oracle")]
    assert "no caches" in caplog.text


async def test_a_sample_run_that_caches_answered_is_run_again_by_the_oracle(tmp_path):
    world = await ready(World(tmp_path, None))
    world.supply.network.answer_with(built())
    world.supply.tapped = lambda items: "oracle+exits"
    batch = np.zeros((2, 3, 4, 4), np.float32)
    batch[:, 0] = 200
    for _ in range(EVERY):
        (found,) = await world.sampled.infer("oracle", batch, ASKED.urgency)
        assert found.argmax(axis=1).tolist() == [0, 0]
        assert (found != 0).any()
    assert [model for model, _, _ in world.engine.asked] == ["oracle"] * (EVERY - 1) + ["oracle+exits", "oracle"]


async def test_closing_ends_the_builder(tmp_path):
    builder = Builder(SERVES)
    world = await ready(World(tmp_path, None, builder))
    await looked(world, FRAMES)
    await world.caches.close()
    assert builder.closed


def test_the_ring_keeps_the_newest(tmp_path):
    taps = OwnTaps(tmp_path, 1)
    for number in range(3):
        rows = np.full((CAPACITY // 2, 2), number, np.float32)
        count = len(rows)
        outputs = ExitOutputs(
            scores(["green"] * count),
            np.ones(count, np.int32),
            np.zeros(count, np.int32),
            np.zeros((count, 0), np.float32),
            [rows],
        )
        taps.add(outputs)
    taps.close()
    assert taps.taken == 3 * (CAPACITY // 2)
    assert set(np.load(tmp_path / "features.npy")[:, 0]) == {1, 2}
