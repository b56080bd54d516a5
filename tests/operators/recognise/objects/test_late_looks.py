"""Looks whose answers come when they can: frames do not wait for them, and objects keep what is known of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cache_adapt.audit.state import Rule
from operators.audits.roles import Roles
from operators.audits.unit_costs import UnitCosts
from operators.base import Call
from operators.frames.frame import Region
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.late_looks import MOST_ASKED, REST_S, LateLooks
from operators.recognise.objects.objects import Objects
from operators.recognise.variants import VariantShortcut
from operators.testing import FakeEngine, call, card_of, make_frame, make_region, scores
from serving.errors import Unavailable
from serving.scheduling.requests import Urgency
from tests.fake_clock import FakeClock


class Elsewhere(FakeEngine):
    """Its oracle answers when a test lets it, or fails."""

    def __init__(self) -> None:
        here = card_of("here"), lambda batch: [scores(["green"] * len(batch))]
        super().__init__(oracle=(card_of("oracle"), lambda batch: [scores([self.says] * len(batch))]), here=here)
        self.says, self.error = "blue", ""
        self.open = asyncio.Event()

    async def infer(self, model: str, batch: np.ndarray, urgency: Urgency, *more: Any) -> list[np.ndarray]:
        if model == "oracle":
            self.asked.append((model, batch, urgency.deadline))
            await self.open.wait()
            if self.error:
                raise Unavailable(self.error)
            return [scores([self.says] * len(batch))]
        return await super().infer(model, batch, urgency, *more)


class Node:
    """A node that answers for tracks, whose oracle is elsewhere."""

    def __init__(self, *models: str) -> None:
        self.engine, self.clock = Elsewhere(), FakeClock()
        recogniser = Classifier(self.engine, Roles.of(["oracle", *models], self.engine.card), "paint")
        self.late = LateLooks(recogniser, self.clock)
        variants = [VariantShortcut(recogniser, model) for model in models]
        networks = ChainNetworks(recogniser, UnitCosts(self.engine), variants, late=self.late)
        self.chain = Chain("type", networks, ChainTerms(Rule(0.9)), Objects(recogniser))
        self.seq = 0

    async def frame(self, *tracks: int | None, left_s: float = 0.05, stream: str = "cam") -> Sequence[Region]:
        """The next frame, with so many seconds until its deadline."""
        given = call("oracle", deadline=self.clock.monotonic_s() + left_s)
        return await self.frame_with(given, *tracks, stream=stream)

    async def frame_with(self, given: Call, *tracks: int | None, stream: str = "cam") -> Sequence[Region]:
        regions = [make_region(0.1, id=place, track_id=track) for place, track in enumerate(tracks)]
        frame = make_frame(self.seq, self.seq * 0.1, stream=stream)
        self.seq += 1
        answer = await self.chain.process(frame, regions, given)
        self.declined = answer.declined
        await asyncio.sleep(0.01)
        return regions

    @property
    def asked(self) -> int:
        return len(self.engine.asked)


def words(regions: Sequence[Region]) -> list[tuple[str, int | None]]:
    return [(each.attributes[0].label, each.attributes[0].looks) for each in regions]


async def test_no_frame_waits_and_the_answer_is_the_next_frames() -> None:
    node = Node()
    assert words(await node.frame(7)) == [("unknown", 0)]
    assert words(await node.frame(7)) == [("unknown", 0)]
    assert node.asked == 1
    node.engine.open.set()
    await asyncio.sleep(0.01)
    (region,) = await node.frame(7)
    assert words([region]) == [("blue", 1)]
    assert (region.attributes[0].provenance, region.attributes[0].looked) == ("track", "oracle")
    assert node.asked == 1


async def test_a_frame_waits_for_what_usually_comes_in_time() -> None:
    node = Node()
    node.engine.open.set()
    await node.frame(7)
    assert words(await node.frame(8, left_s=10.0)) == [("blue", 1)]


async def test_frames_of_a_stream_that_waits_have_every_answer() -> None:
    node = Node()
    asyncio.get_running_loop().call_later(0.02, node.engine.open.set)
    given = replace(call("oracle", deadline=node.clock.monotonic_s() - 1.0), unhurried=True)
    assert words(await node.frame_with(given, 7, 8)) == [("blue", 1), ("blue", 1)]


async def test_objects_without_a_track_are_not_asked_about() -> None:
    node = Node()
    node.engine.open.set()
    assert words(await node.frame(None)) == [("unknown", 0)]
    assert node.asked == 0


async def test_where_it_fails_a_variant_answers_and_nothing_is_asked_for_a_moment() -> None:
    node = Node("here")
    node.engine.error = "the 2 calls of the day are made"
    node.engine.open.set()
    await node.frame(7)
    (region,) = await node.frame(7)
    assert (region.attributes[0].label, region.attributes[0].looked) == ("green", "variant")
    assert node.declined["variant"] == "the 2 calls of the day are made"
    asked = [model for model, _, _ in node.engine.asked].count("oracle")
    assert words(await node.frame(8)) == [("green", 1)]
    assert [model for model, _, _ in node.engine.asked].count("oracle") == asked
    node.clock.advance(2 * REST_S)
    await node.frame(9)
    assert [model for model, _, _ in node.engine.asked].count("oracle") == asked + 1


async def test_where_it_fails_and_nobody_else_is_listed_objects_stay_as_they_are_known() -> None:
    node = Node()
    node.engine.open.set()
    await node.frame(7)
    assert words(await node.frame(7)) == [("blue", 1)]
    node.engine.error = "no answer"
    for _ in range(30):
        regions = await node.frame(7, 8)
    assert words(regions) == [("blue", 1), ("unknown", 0)]


async def test_looks_under_way_are_bounded_and_answers_that_nobody_takes_go() -> None:
    node = Node()
    await node.frame(*range(MOST_ASKED + 50))
    assert node.asked == MOST_ASKED
    node.engine.open.set()
    await asyncio.sleep(0.05)
    await node.frame(10_000)
    assert node.asked == MOST_ASKED + 1


async def test_where_answers_give_way_those_of_the_very_frame_are_taken() -> None:
    node = Node()
    await node.frame(*range(MOST_ASKED))
    node.engine.open.set()
    await asyncio.sleep(0.05)
    assert words(await node.frame(0, 10_000))[0] == ("blue", 1)


async def test_a_stream_may_end_while_its_frame_waits_for_answers() -> None:
    node = Node()
    given = replace(call("oracle"), unhurried=True)
    await node.frame(7)
    asyncio.get_running_loop().call_later(0.02, node.late.forget, "cam")
    assert words(await node.frame_with(given, 7)) == [("unknown", 0)]


async def test_looks_of_a_stream_that_ends_are_given_up() -> None:
    node = Node()
    await node.frame(7)
    await node.frame(7, stream="other")
    node.chain.forget("cam")
    await asyncio.sleep(0.01)
    node.engine.open.set()
    await asyncio.sleep(0.01)
    assert words(await node.frame(7, stream="other")) == [("blue", 1)]
    await node.frame(7)
    assert node.asked == 3


async def test_closing_ends_what_is_under_way() -> None:
    node = Node()
    await node.frame(7)
    await node.chain.close(1.0)
    assert len(asyncio.all_tasks()) == 1
