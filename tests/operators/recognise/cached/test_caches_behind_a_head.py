"""Caches behind a shortcut that has begun with the oracle: they answer in its rest, and nothing runs twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cache_adapt.audit.state import AuditState, Rule
from operators.audits.snapshot import NodeSnapshot
from operators.audits.unit_costs import HANDLING_S, RESUMING_S
from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.frames.halfway import Halfway, Rest
from operators.recognise.cached.sampled_engine import EVERY
from operators.recognise.chain import Chain
from operators.recognise.shortcuts.shortcut import Shortcut, Turn
from operators.recognise.terms import ChainTerms
from operators.testing import call
from operators.wire.schema import Model, ShortcutKind
from serving.engines.exits import Exits
from tests.operators.recognise.cached.paints import BLUE, GREEN, MURKY, RED, World, built, ready, scene, word

WHOLE_S, REST_S, FIRST_S = 0.010 + HANDLING_S, 0.005 + RESUMING_S, 0.001
SPARED_S = 0.004


class Begins(Shortcut):
    """Knows what is green, and has run the first half of the oracle for everything."""

    kind: ShortcutKind = "specialised"
    models: Sequence[str] = ("tiny",)
    follows_content = False

    def __init__(self, world: World) -> None:
        self._world = world
        network = world.supply.network
        exits = network.exits if network else Exits(())
        self._rest = Rest(world.sampled.add_halves("oracle", "tiny", exits).rest, exits)

    def begun(self, frame: Frame, regions: Sequence[Region]) -> Halfway:
        pictures = self._world.recogniser.crops("oracle", frame, regions)
        rows = np.stack([np.full((3, 4, 4), crop.mean(axis=(0, 1))[:, None, None], np.float32) for crop in pictures])
        return Halfway("oracle", self._rest, regions, rows, SPARED_S)

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        green = [
            each for each in regions if self._world.recogniser.crops("oracle", frame, [each])[0][..., 1].min() > 150
        ]
        for region in green:
            said = Model(name="tiny", version="1", tier=self.kind)
            region.attributes.append(self._world.recogniser.answer("green", 0.9, self.kind, said))
        rest = [each for each in regions if not any(each is one for one in green)]
        return Turn(green, rest, 1, halfway=self.begun(frame, regions))

    def cost_s(self, turn: Turn) -> float:
        saved_s = turn.halfway.saved_s if turn.halfway else 0.0
        return FIRST_S * (len(turn.answered) + len(turn.rest)) - saved_s


def begun(world: World, *colours: tuple[int, int, int]) -> tuple[Frame, list[Region], Call]:
    """A frame whose regions all have passed the first half."""
    frame, regions = scene(*colours)
    return frame, regions, replace(call("oracle"), halfway=Begins(world).begun(frame, regions))


def asked(world: World) -> list[tuple[str, int]]:
    return [(model, len(batch)) for model, batch, _ in world.engine.asked]


async def test_caches_answer_in_the_rest(tmp_path: Path) -> None:
    world = await ready(World(tmp_path, built()))
    frame, regions, at = begun(world, BLUE, MURKY, RED)
    turn = await world.caches.answer(frame, regions, at)
    assert asked(world) == [("oracle+half", 3)]
    assert [word(region) for region in turn.answered] == [("blue", "cached"), ("red", "cached")]
    assert [(region, look.provenance) for region, look in turn.finished] == [(regions[1], "oracle")]
    assert world.caches.cost_s(turn) == pytest.approx(3 * REST_S)


async def test_caches_of_another_network_begin_with_its_first_layer(tmp_path: Path) -> None:
    world = World(tmp_path, built())
    frame, regions, at = begun(world, BLUE, RED)
    await ready(world)  # the rest was cut before there were caches
    turn = await world.caches.answer(frame, regions, at)
    assert asked(world) == [("oracle+exits", 2)]
    assert len(turn.answered) == 2


async def test_where_caches_may_not_answer_the_oracle_goes_on_without_them(tmp_path: Path) -> None:
    world = await ready(World(tmp_path, built()))
    frame, regions, at = begun(world, BLUE, MURKY)
    await world.oracle.answer(frame, regions, at)
    assert [word(region) for region in regions] == [("blue", "oracle")] * 2
    assert asked(world) == [("oracle+half", 2)]
    assert at.halfway is not None
    assert at.halfway.saved_s == pytest.approx(2 * SPARED_S)


async def test_where_caches_answered_all_the_same_the_oracle_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await ready(World(tmp_path, built()))
    frame, regions, at = begun(world, BLUE, MURKY)
    monkeypatch.setattr(Exits, "be_silent_once", lambda self: None)  # another stream's batch was the silent one
    await world.oracle.answer(frame, regions, at)
    assert [word(region) for region in regions] == [("blue", "oracle")] * 2
    assert asked(world) == [("oracle+half", 2), ("oracle", 2)]
    assert at.halfway is not None
    assert at.halfway.saved_s == 0.0


async def test_looks_that_go_on_become_samples(tmp_path: Path) -> None:
    world = await ready(World(tmp_path, None))
    for _ in range(EVERY):
        frame, regions, at = begun(world, BLUE, RED)
        await world.oracle.answer(frame, regions, at)
    assert asked(world) == [("oracle+half", 2)] * EVERY
    assert np.load(tmp_path / "samples" / "labels.npy")[:3].tolist() == [0, 2, -1]


async def test_a_head_caches_and_the_oracle_run_every_layer_once(tmp_path: Path) -> None:
    world = await ready(World(tmp_path, built()))
    chain = Chain(
        "paint",
        [Begins(world), world.caches],
        world.oracle,
        ChainTerms(Rule(0.5, probation_rate=0.0), books=world.books),
    )
    serving = {"specialised": AuditState(phase="probation"), "cached": AuditState(phase="probation", edition=1)}
    chain.restore("cam", NodeSnapshot(audits=serving).to_json())
    seconds, before = world.books.of("cam").seconds, len(world.engine.asked)
    frame, regions = scene(GREEN, BLUE, MURKY)
    await chain.process(frame, regions, call("oracle"))
    runs = asked(world)[before:]
    assert [word(each) for each in regions] == [("green", "specialised"), ("blue", "cached"), ("blue", "oracle")]
    assert runs == [("oracle+half", 2)]
    used_s = 3 * WHOLE_S - (seconds.saved + seconds.spent)
    assert used_s == pytest.approx(3 * FIRST_S + 2 * REST_S)
    await chain.close(10)


async def test_caches_prove_themselves_in_the_rest(tmp_path: Path) -> None:
    world = await ready(World(tmp_path, built()))
    frame, regions, at = begun(world, BLUE, MURKY)
    turn = await world.caches.listen(frame, regions, at)
    assert turn is not None
    assert asked(world) == [("oracle+half", 2)]
    assert [heard.said.label if heard.said else None for heard in turn.overheard] == ["blue", None]
    assert at.halfway is not None
    assert at.halfway.resumed == 2
