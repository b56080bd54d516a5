"""A node that answers for tracks: what results say, who is asked, and what is concluded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cache_adapt.audit.state import Rule
from operators.audits.roles import Roles
from operators.audits.unit_costs import UnitCosts
from operators.frames.frame import Region
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.chain import Chain
from operators.recognise.classifier import Classifier
from operators.recognise.looks import ChainNetworks, ChainTerms
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.objects import Objects
from operators.recognise.objects.pool import ObjectAnswer
from operators.testing import FakeEngine, call, card_of, make_frame, make_region
from operators.testing.engine import COLOURS
from serving.errors import SluiceError
from tests.operators.recognise.objects.looks import look


class Node:
    """A node whose oracle ``says`` a colour with a ``logit``; the other two have 0."""

    def __init__(self, **more: Any) -> None:
        self.says, self.logit, self.broken = "blue", 4.0, False
        self.engine = FakeEngine(oracle=(card_of("oracle"), self._scores))
        recogniser = Classifier(self.engine, Roles.of(["oracle"], self.engine.card), "paint", **more)
        self.objects = Objects(recogniser)
        networks = ChainNetworks(recogniser, UnitCosts(self.engine))
        self.chain = Chain("type", networks, ChainTerms(Rule(0.9)), self.objects)
        self.seq = 0
        self.found: list[ObjectAnswer] = []
        """What audits and exits hear of objects, in this order."""
        concluded = self.chain._auditor.concluded

        def heard(stream: NodeStream, answer: ObjectAnswer) -> None:
            self.found.append(answer)
            concluded(stream, answer)

        self.chain._auditor.concluded = heard  # type: ignore[method-assign]

    def _scores(self, batch: np.ndarray) -> list[np.ndarray]:
        if self.broken:
            raise SluiceError("out of memory")
        return [np.array([[self.logit * (self.says == each) for each in COLOURS]] * len(batch), np.float32)]

    async def frame(self, *tracks: int | None, run: str = "run-1", step_s: float = 0.1) -> list[Region]:
        regions = [make_region(0.3 * place + 0.05, id=place, track_id=track) for place, track in enumerate(tracks)]
        frame = make_frame(self.seq, self.seq * step_s, run=run)
        self.seq += 1
        await self.chain.process(frame, regions, call("oracle"))
        return regions

    @property
    def looks(self) -> int:
        return sum(len(batch) for _, batch, _ in self.engine.asked)


async def test_every_frame_has_the_tracks_answer_and_few_have_a_look() -> None:
    node = Node()
    answers = [region.attributes for _ in range(40) for region in await node.frame(7)]
    assert {len(attributes) for attributes in answers} == {1}
    assert {(each.label, each.provenance, each.model.name) for (each,) in answers} == {("blue", "track", "oracle")}
    assert [number for number, (each,) in enumerate(answers) if each.looked] == [0, 5, 15, 35]
    assert [answers[number][0].looks for number in (0, 4, 5, 39)] == [1, 1, 2, 4]
    assert node.looks == 4
    assert answers[0][0].confidence == pytest.approx(np.exp(4) / (np.exp(4) + 2), abs=1e-3)


async def test_objects_without_a_track_are_looked_at_in_every_frame_and_answered_as_before() -> None:
    node = Node(min_confidence=0.99)
    for _ in range(5):
        tracked, untracked = await node.frame(7, None)
        assert [(each.label, each.provenance, each.looks) for each in untracked.attributes] == [
            ("unknown", "oracle", None)
        ]
        assert tracked.attributes[0].provenance == "track"
    assert node.looks == 6


async def test_the_least_confidence_is_that_of_all_looks_together() -> None:
    node = Node(min_confidence=0.7)
    node.logit = 1.3  # .65 for one look
    first = (await node.frame(7))[0].attributes[0]
    for _ in range(20):
        (region,) = await node.frame(7)
    assert (first.label, first.looks) == ("unknown", 1)
    assert first.confidence == pytest.approx(0.65, abs=0.01)
    assert region.attributes[0].label == "blue"
    assert region.attributes[0].confidence >= 0.7


async def test_a_new_run_has_other_objects() -> None:
    node = Node()
    await node.frame(7)
    node.says = "red"
    (region,) = await node.frame(7, run="run-2")
    assert region.attributes[0].label == "red"


async def test_streams_are_apart_and_forgotten() -> None:
    node = Node()
    await node.frame(7)
    node.chain.forget("cam")
    node.chain.forget("another")
    node.says = "red"
    assert (await node.frame(7))[0].attributes[0].label == "red"


async def test_each_object_is_concluded_once() -> None:
    node = Node()
    for _ in range(30):
        await node.frame(7, 8)
    assert [(answer.track_id, answer.sure, answer.looked) for answer in node.found] == [
        (7, True, {"oracle": 1}),
        (8, True, {"oracle": 1}),
    ]


async def test_objects_that_leave_unsure_are_concluded_and_those_of_a_stream_that_ends() -> None:
    node = Node()
    node.logit = 0.5
    await node.frame(7)
    await node.frame(step_s=100.0)
    assert [answer.track_id for answer in node.found] == [7]
    await node.frame(8, run="run-2")
    await node.frame(9, run="run-3")
    node.chain.forget("cam")
    assert [(answer.track_id, answer.sure) for answer in node.found] == [(7, False), (8, False), (9, False)]


async def test_what_is_published_of_looks_is_what_their_pool_says() -> None:
    node = Node(min_confidence=0.7)
    pool = node.objects.new_pool(whole=True)
    for _ in range(2):
        pool.add(look("blue", 0.65))
    answer = node.objects.answer_of(pool.belief())
    assert (answer.label, answer.provenance) == ("blue", "oracle")
    assert answer.confidence == pytest.approx(pool.belief().posterior, abs=1e-4)
    part = node.objects.new_pool(whole=False)
    for _ in range(2):
        part.add(look("blue", 0.65))
    assert part.tempered == pytest.approx(LOOK_RULE.border_strength * pool.tempered)
    assert node.objects.answer_of(part.belief()).label == "unknown"


async def test_a_look_that_fails_is_made_in_the_next_frame() -> None:
    node = Node()
    node.broken = True
    with pytest.raises(SluiceError):
        await node.frame(7)
    node.broken = False
    (region,) = await node.frame(7)
    assert (region.attributes[0].looks, region.attributes[0].looked) == (1, "oracle")


async def test_a_node_without_shortcuts_has_neither_plan_nor_snapshot() -> None:
    node = Node()
    await node.frame(7)
    assert node.chain.plans() == {}
    assert node.chain.snapshot("cam") is None
