"""Thresholds of released caches follow what is shown, between two batches; the caches stay the same edition."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cache_adapt.caches.newest import KEPT
from cache_adapt.caches.store import BuiltCaches
from cache_adapt.exits.ramps import EVERY
from cache_adapt.exits.thresholds import WINDOW
from operators.testing import call
from serving.engines.exits import ExitOutputs
from tests.operators.recognise.cached.paints import BLUE, GREEN, MURKY, RED, World, built, ready, scene
from tests.operators.recognise.cached.test_caches_in_a_variant import confused

ASKED = call("oracle")
DIM = (60, 55, 0)
"""The oracle says blue, and the first cache is far from sure."""


async def world_of(directory: Path, threshold: float = 0.1) -> World:
    return await ready(World(directory, built(threshold=threshold), releases=True))


async def shown(world: World, frames: int, *colours: tuple[int, int, int]) -> None:
    for seq in range(frames):
        frame, regions = scene(*colours, seq=seq)
        turn = await world.caches.answer(frame, regions, ASKED)
        await world.caches.settled()
        if turn.own is not None:
            await turn.own
    await world.caches.settled()


def thresholds(world: World) -> dict[str, float]:
    network = world.supply.network
    assert network is not None
    return {tensor: cache.threshold for tensor, cache in network.exits.now.by_cut.items()}


def disagreeing(world: World) -> None:
    """From now on the oracle says something else of everything."""
    card, run = world.engine._models["oracle+exits"]

    def turned(batch: np.ndarray) -> list[np.ndarray]:
        found = ExitOutputs.of(run(batch))
        return ExitOutputs(
            np.roll(found.scores, 1, axis=1), found.place, found.version, found.distribution, found.taps
        ).as_list()

    world.engine._models["oracle+exits"] = card, turned


FOUR = (BLUE, RED, GREEN, BLUE)


async def test_thresholds_rise_where_more_can_be_answered_rightly(tmp_path):
    world = await world_of(tmp_path, threshold=0.0)
    await shown(world, KEPT // 4 - 1, *FOUR)
    assert thresholds(world)["early"] == 0.0
    await shown(world, 1, *FOUR)
    assert thresholds(world)["early"] > 0.0
    frame, regions = scene(*FOUR)
    assert len((await world.caches.answer(frame, regions, ASKED)).answered) == 4


async def test_they_fall_at_once_where_caches_begin_to_be_wrong(tmp_path):
    world = await world_of(tmp_path)
    await shown(world, KEPT // 4, *FOUR)
    assert "early" in thresholds(world)
    disagreeing(world)
    await shown(world, 2 * KEPT // 4, *FOUR)
    assert thresholds(world) == {}, "nobody is asked who is always wrong"
    frame, regions = scene(*FOUR)
    turn = await world.caches.answer(frame, regions, ASKED)
    assert len(turn.finished) == 4


async def test_it_takes_a_window_of_wrong_answers_to_tune_and_not_the_next_regular_time(tmp_path):
    world = await world_of(tmp_path)
    await shown(world, KEPT // 4, *FOUR)
    tuned: list[dict[str, float]] = []
    network = world.supply.network
    tune = network.tune
    network.tune = lambda found: (tuned.append(dict(found)), tune(found))
    await shown(world, (EVERY - 4) // 4, *FOUR)
    assert tuned == []
    await shown(world, 1, *FOUR)
    assert len(tuned) == 1
    disagreeing(world)
    await shown(world, WINDOW // 4, *FOUR)
    assert len(tuned) == 2


async def test_caches_that_are_not_asked_are_still_of_their_edition_and_come_back(tmp_path):
    world = await world_of(tmp_path)
    network = world.supply.network
    network.tune({})
    assert world.caches.edition("cam") == 1
    await shown(world, KEPT // 4, *FOUR)
    assert "early" in thresholds(world)
    assert world.caches.edition("cam") == 1


async def test_a_cache_that_answers_nothing_is_not_asked(tmp_path):
    good = built()
    predictor = good.caches[0].predictor
    greenish = replace(predictor, output=(predictor.output[0], np.float32([0, 3, 0])))  # wrong of what is murky
    early = replace(good.caches[0], predictor=greenish)
    late = replace(good.caches[1], predictor=confused().caches[0].predictor)
    world = await ready(World(tmp_path, BuiltCaches(good.card, (early, late)), releases=True))
    assert set(thresholds(world)) == {"early", "late"}
    await shown(world, KEPT // 4, BLUE, MURKY, MURKY, MURKY)
    assert set(thresholds(world)) == {"early"}


async def test_looks_in_the_shadow_count_too(tmp_path):
    world = await world_of(tmp_path, threshold=0.0)
    for seq in range(KEPT // 4):
        frame, regions = scene(*FOUR, seq=seq)
        assert await world.caches.listen(frame, regions, ASKED) is not None
    await world.caches.settled()
    assert thresholds(world)["early"] > 0.0


async def test_other_caches_begin_anew(tmp_path):
    world = await world_of(tmp_path, threshold=0.0)
    await shown(world, KEPT // 4 - 1, *FOUR)
    world.supply.network.answer_with(built(threshold=0.0))
    await shown(world, KEPT // 4 - 1, *FOUR)
    assert thresholds(world)["early"] == 0.0
    await shown(world, 1, *FOUR)
    assert thresholds(world)["early"] > 0.0


async def test_tuning_is_paid_by_who_wanted_early_answers(tmp_path):
    world = await world_of(tmp_path)
    await shown(world, KEPT // 4, *FOUR)
    assert world.books.of("cam").seconds.early > 0
    assert world.books.purse.spent_s == 0.0


async def test_caches_that_are_withdrawn_meanwhile_are_not_tuned(tmp_path):
    world = await world_of(tmp_path, threshold=0.0)
    await shown(world, KEPT // 4 - 1, *FOUR)
    frame, regions = scene(*FOUR)
    await world.caches.answer(frame, regions, ASKED)
    world.supply.network.withdraw()
    await world.caches.settled()
    assert thresholds(world) == {}
    assert world.caches.edition("cam") is None


async def test_without_release_thresholds_stay(tmp_path):
    world = await ready(World(tmp_path, built(threshold=0.0)))
    for seq in range(KEPT // 4 + 1):
        frame, regions = scene(*FOUR, seq=seq)
        await world.caches.answer(frame, regions, ASKED)
    await world.caches.settled()
    assert thresholds(world) == {"early": 0.0, "late": 0.0}


@pytest.mark.parametrize("colours", [(MURKY, DIM), (BLUE, MURKY)])
async def test_what_caches_say_of_objects_that_go_through_is_evidence(tmp_path, colours):
    world = await world_of(tmp_path)
    await shown(world, KEPT // 2, *colours)
    following = world.supply._thresholds._following
    assert sum(len(each.answers) for each in following.newest.now) == KEPT
