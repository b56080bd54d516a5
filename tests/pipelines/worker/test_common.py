"""Queries of one process: what they have in common is opened once, and closed with the last that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from operators.detect.zoned import Zoned
from operators.testing import make_frame
from pipelines.assembly.parts import Setting
from pipelines.environment import catalogue
from pipelines.measure.stand_ins.planner import Chosen
from pipelines.query.dag import compiled
from pipelines.query.query_file import Query
from pipelines.worker.common import BorrowedNode, Common, OpenQuery
from serving.catalogue.lookup import read_weights
from serving.errors import SluiceError
from serving.graphs.cut_points import cut_points

KNOWN = catalogue([])
DETECT = {"name": "detect", "task": "detect", "model": "motion"}
TRACK = {"name": "track", "task": "track", "input": "detect"}
TYPE = {"name": "type", "task": "recognise", "input": "track", "model": "vehicle-type"}
COLOUR = {"name": "colour", "task": "recognise", "input": "track", "model": "vehicle-colour"}
GATE = {"name": "gate", "polygon": [[0, 0], [1, 0], [1, 1]]}


async def opened(common: Common, name: str, *nodes: Mapping[str, Any], link: Any = None, **more: Any) -> OpenQuery:
    said = {"version": 1, "name": name, "slo_ms": 60_000, "nodes": list(nodes), **more}
    return await common.open(compiled(Query.model_validate(said), KNOWN), link)


async def test_a_network_is_loaded_once_and_leaves_with_the_last_query_that_names_it() -> None:
    async with Common(KNOWN, Setting()) as common:
        first = await opened(common, "a", DETECT, TRACK, TYPE)
        second = await opened(common, "b", DETECT, TRACK, TYPE, COLOUR)
        assert [one is other for one, other in zip(first.nodes, second.nodes, strict=False)] == [True] * 3
        assert common.networks.is_loaded("vehicle-colour")
        await common.close(second)
        assert not common.networks.is_loaded("vehicle-colour")
        assert common.networks.is_loaded("vehicle-type")
        await common.close(first)
        assert not common.networks.is_loaded("vehicle-type")


async def test_cut_copies_and_stand_ins_of_a_network_leave_with_it() -> None:
    async with Common(KNOWN, Setting()) as common:
        query, networks = await opened(common, "a", DETECT, TRACK, TYPE), common.networks
        middle = cut_points(read_weights(KNOWN.find("vehicle-type").path, KNOWN.find("vehicle-type").card))[1]
        cut = networks.add_cuts("vehicle-type", [middle.tensor])
        others = [cut, "vehicle-type@onnxruntime-fp32-batch4", "vehicle-colour"]
        for name in others:
            await networks.load(name)
        await common.close(query)
        assert [networks.is_loaded(name) for name in others] == [False, False, True]
        await networks.load(cut)
        assert networks.is_loaded(cut)


async def test_learning_of_all_queries_together_costs_a_process_the_share_that_one_may_spend() -> None:
    async with Common(KNOWN, Setting()) as common:
        budgets = []
        for name, node in (("a", TYPE), ("b", COLOUR)):
            audits = (await opened(common, name, DETECT, TRACK, node)).house.environment.audits
            assert audits is not None
            budgets.append(audits.budget)
        before_s = budgets[1].left_s
        budgets[0].spend("training", 1000.0)
        assert budgets[1].left_s < before_s - 900


async def test_queries_that_share_a_node_are_answered_by_the_same_stand_in() -> None:
    async with Common(KNOWN, Setting()) as common:
        first = await opened(common, "a", DETECT, TRACK, TYPE)
        second = await opened(common, "b", DETECT, TRACK, TYPE)
        third = await opened(common, "c", DETECT, TRACK, TYPE)
        await common.close(second)
        stands_in = first.house.stand_ins.chosen["type"] = Chosen("vehicle-type@onnxruntime-int8", "it costs less")
        assert third.house.stand_ins.of("type") is stands_in
        assert third.house.stand_ins.of("detect") is None


async def test_a_tracker_is_not_shared_with_a_query_that_has_another_one_beside_it() -> None:
    """Its ids would be those of the other."""
    other = [{**DETECT, "name": "detect-2"}, {**TRACK, "name": "track-2", "input": "detect-2"}]
    async with Common(KNOWN, Setting()) as common:
        first = await opened(common, "a", DETECT, TRACK)
        second = await opened(common, "b", DETECT, TRACK, *other)
        third = await opened(common, "c", *other, DETECT, TRACK)
        assert len(set(map(id, first.nodes)) & set(map(id, second.nodes))) == 1
        assert set(map(id, second.nodes)) == set(map(id, third.nodes))


async def test_who_trains_for_a_node_does_so_as_long_as_anybody_uses_it() -> None:
    """Also where the query that it was built for is changed, or withdrawn, and another one goes on with it."""
    linked: list[str] = []

    @asynccontextmanager
    async def link(name: str) -> AsyncIterator[Any]:
        linked.append(name)
        yield None
        linked.remove(name)

    async with Common(KNOWN, Setting()) as common:
        first = await opened(common, "a", DETECT, TRACK, TYPE, link=link("a"))
        second = await opened(common, "b", DETECT, TRACK, TYPE, link=link("b"))
        await common.close(first)
        assert linked == ["a", "b"]
        await common.close(second)
        assert linked == []
        await opened(common, "c", DETECT, TRACK, TYPE, link=link("c"))
    assert linked == []


async def test_a_node_outlives_the_query_it_was_built_for_as_long_as_another_uses_it() -> None:
    async with Common(KNOWN, Setting()) as common:
        first = await opened(common, "a", DETECT, TRACK, TYPE)
        second = await opened(common, "b", DETECT, TRACK, TYPE)
        assert isinstance(second.parts.shortcuts.nodes["type"], BorrowedNode)
        await common.close(first)
        frame = make_frame()
        result = await second.parts.executor.submit(frame.header, lambda: frame)
        assert result.outcome == "analysed"
        third = await opened(common, "a", DETECT, TRACK, TYPE)
        assert third.nodes == second.nodes
        await common.close(second)
        await common.close(third)
        fourth = await opened(common, "a", DETECT, TRACK, TYPE)
        assert not {*fourth.nodes} & {*third.nodes}, "what nobody uses is forgotten"


async def test_each_query_adds_its_own_zones_to_what_a_shared_detector_finds() -> None:
    async with Common(KNOWN, Setting()) as common:
        plain = await opened(common, "a", DETECT)
        zoned = await opened(common, "b", DETECT, zones=[GATE])
        assert plain.nodes == zoned.nodes
        assert not isinstance(plain.nodes[0].operator, Zoned)


async def test_frames_may_be_as_large_as_the_query_that_allows_most() -> None:
    async with Common(KNOWN, Setting()) as common:
        await opened(common, "a", DETECT, streams=[{"uri": "a.mp4", "id": "cam", "max_width": 640}])
        wide = await opened(common, "b", DETECT, streams=[{"uri": "a.mp4", "id": "cam", "max_width": 3840}])
        assert common.lanes.room.max_widths == {"cam": 3840}
        await common.close(wide)
        assert common.lanes.room.max_widths == {"cam": 640}


async def test_a_query_that_cannot_be_opened_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(self: object, model: str) -> float:
        raise SluiceError(f"{model} is damaged")

    async with Common(KNOWN, Setting()) as common:
        first = await opened(common, "a", DETECT, TRACK)
        with monkeypatch.context() as patched:
            patched.setattr("serving.backend.Backend.load", refuse)
            with pytest.raises(SluiceError, match="is damaged"):
                await opened(common, "b", DETECT, TRACK, TYPE)
        again = await opened(common, "b", DETECT, TRACK, TYPE)
        assert again.nodes[:2] == first.nodes
        frames = [make_frame(seq=seq) for seq in range(2)]
        each = [first.parts.executor, again.parts.executor]
        found = await asyncio.gather(*(to.submit(frame.header, lambda f=frame: f) for frame in frames for to in each))
        assert {result.outcome for result in found} == {"analysed"}
