"""The things that the queries of one process have in common: networks, lanes, and the nodes that are the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from operators.base import Operator, make_ready, shared_part
from operators.detect.zoned import Zoned
from operators.observer import Observers
from operators.wire.schema import FrameId, NodePlan
from pipelines.assembly.node import node, tracker_names
from pipelines.assembly.parts import Household, Parts, Setting, executing, frame_room, housed
from pipelines.assembly.registry import ShortcutNode
from pipelines.environment import backend
from pipelines.execute.lanes import Lanes
from pipelines.measure.process_meter import ProcessMeter
from pipelines.measure.stand_ins.roles import stood_in_for
from pipelines.query.dag import CompiledQuery, DagNode, depends
from pipelines.query.filters import ZONE, leaves
from pipelines.query.models.remote_models import named_backends
from pipelines.query.nodes import DetectNode, NetworkNode, OwnNode, RecogniseNode, TrackNode, is_planned
from pipelines.query.query_file import Query
from serving.catalogue.lookup import Catalogue
from serving.variants.variant import ANYWHERE, placed

if TYPE_CHECKING:
    from cache_adapt.adaptation.elsewhere import Elsewhere
    from pipelines.observe.record.recorder import Recorder
    from serving.backend import Backend


@dataclass(eq=False)
class CommonNode:
    """An operator, and the queries that use it."""

    operator: Operator
    shortcuts: Mapping[str, ShortcutNode]
    """Its shortcuts, by their names in the registry of the query that has built it."""
    builder: OpenQuery
    users: set[OpenQuery] = field(default_factory=set)


@dataclass(eq=False)
class OpenQuery:
    """A query whose executor is ready for frames."""

    wanted: CompiledQuery
    house: Household
    housing: AsyncExitStack
    """Ends when nobody uses a node any more that was built in the house."""
    working: AsyncExitStack
    """Ends with the query."""
    nodes: list[CommonNode] = field(default_factory=list)
    parts: Parts = field(init=False)


class Common:
    """Opens queries and closes them, one at a time; what is left of them runs on."""

    def __init__(self, known: Catalogue, setting: Setting) -> None:
        """``setting``: that of every query."""
        meter = ProcessMeter()
        self.networks: Backend = backend(known, Observers([setting.observers, meter]))
        self.lanes = Lanes(setting.clock, frame_room([]))
        self._setting = replace(setting, local=self.networks, lanes=self.lanes, meter=meter)
        self._nodes: dict[str, CommonNode] = {}
        """By what their answers depend on."""
        self._open: list[OpenQuery] = []
        self._lenders: list[OpenQuery] = []
        """Queries that are closed, but others use nodes that were built for them."""

    async def __aenter__(self) -> Common:
        await self.networks.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in [*self._open, *self._lenders]:
            await each.working.aclose()
        for each in [*self._open, *self._lenders]:
            await each.housing.aclose()
        await self.networks.stop()

    async def open(
        self,
        wanted: CompiledQuery,
        elsewhere: AbstractAsyncContextManager[Elsewhere] | None = None,
        recorder: Recorder | None = None,
    ) -> OpenQuery:
        """Load a query's networks and make it ready, with the nodes that are open already; raises BadInput.

        ``elsewhere``: who trains for the nodes that are built for it, for as long as anybody uses one of them.
        ``recorder``: who is given its frames, and hears of its streams and of audits of these nodes.
        """
        async with AsyncExitStack() as housing, AsyncExitStack() as working:
            link = None if elsewhere is None else await housing.enter_async_context(elsewhere)
            setting = replace(self._setting, elsewhere=link)
            if recorder is not None:
                observers = Observers([setting.observers, recorder])
                setting = replace(setting, final_steps=[*setting.final_steps, recorder.take], observers=observers)
            house = await housing.enter_async_context(housed(wanted, setting))
            found = OpenQuery(wanted, house, housing, working)
            operators = await self._operators(found)
            found.parts = await working.enter_async_context(executing(wanted, setting, house, operators))
            found.housing, found.working = housing.pop_all(), working.pop_all()
        for each in found.nodes:
            each.users.add(found)
        self._open.append(found)
        self._make_room()
        return found

    async def close(self, query: OpenQuery) -> None:
        """Close a query that has no frame in work, all of its nodes that no other uses, and what only those used."""
        self._open.remove(query)
        self._make_room()
        await query.working.aclose()
        self._lenders.append(query)
        for each in query.nodes:
            each.users.remove(query)
            if not each.users:
                await self._end(each)
        lent = {common.builder for other in self._open for common in other.nodes}
        for lender in [each for each in self._lenders if each not in lent]:
            self._lenders.remove(lender)
            await lender.housing.aclose()
        kept = {model for other in self._open for model in _networks(other)}
        gone = _networks(query) - kept
        stood_in = {name for name in self.networks.loaded if name.partition("@")[0] in gone}
        for model in (gone | stood_in) - kept:
            await self.networks.unload(model)

    async def _operators(self, query: OpenQuery) -> Mapping[str, Operator]:
        """By node; those that are there already, and new ones, which are kept for others once all are ready."""
        same, operators, built = identities(query.wanted), dict[str, Operator](), dict[str, CommonNode]()
        for each in query.wanted.dag.nodes:
            shared = self._nodes.get(same.get(each.name, ""))
            if shared is None:
                operators[each.name], shared = _built(each, query)
                built[same.get(each.name, f"only {each.name} of {id(query)}")] = shared
            else:
                operators[each.name] = _borrowed(each, shared, query)
            query.nodes.append(shared)
        for common in built.values():
            await make_ready(common.operator)
        self._nodes |= built
        return operators

    async def _end(self, common: CommonNode) -> None:
        """Give up what an operator does in the background, and forget it."""
        self._nodes = {identity: each for identity, each in self._nodes.items() if each is not common}
        for name, shortcut in common.shortcuts.items():
            del common.builder.house.shortcuts.nodes[name]
            await shortcut.close(0.0)

    def _make_room(self) -> None:
        """Frames may be as large as the queries that are open allow."""
        self.lanes.room = frame_room([each.wanted.query for each in self._open], self.lanes.room.budget)


def _built(each: DagNode, query: OpenQuery) -> tuple[Operator, CommonNode]:
    known = query.house.shortcuts.nodes
    before = set(known)
    operator = node(each.spec, query.house.environment.at(each.name))
    shortcuts = {name: shortcut for name, shortcut in known.items() if name not in before}
    return operator, CommonNode(shared_part(operator), shortcuts, query)


def _borrowed(each: DagNode, common: CommonNode, query: OpenQuery) -> Operator:
    """The operator with what the query adds to it."""
    for name, shortcut in common.shortcuts.items():
        query.house.shortcuts.nodes[name] = BorrowedNode(shortcut)
    query.house.stand_ins.lenders[each.name] = common.builder.house.stand_ins
    zones = query.house.environment.zones
    return Zoned(common.operator, zones) if zones and isinstance(each.spec, DetectNode | OwnNode) else common.operator


def _networks(query: OpenQuery) -> set[str]:
    """The models of a query that may be run in this process."""
    named = (placed(model) for each in query.wanted.dag.nodes for model in each.models)
    return {model for model, backend in named if backend in (None, ANYWHERE)}


class BorrowedNode:
    """A ``ShortcutNode``; what it knows of a stream is neither dropped nor set back by those who borrow it."""

    def __init__(self, lent: ShortcutNode) -> None:
        self._lent = lent

    @property
    def node(self) -> str:
        return self._lent.node

    def forget(self, stream: str) -> None:
        """Do nothing: it goes on for others."""

    def published(self, frame: FrameId) -> None:
        self._lent.published(frame)

    def dropped(self, frame: FrameId) -> None:
        """Do nothing: others may have got its answers."""

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        return self._lent.plans(gone)

    def snapshot(self, stream: str) -> bytes | None:
        return self._lent.snapshot(stream)

    def restore(self, stream: str, data: bytes) -> None:
        """Go on from a snapshot of a stream of which nothing is known yet."""
        if self._lent.snapshot(stream) is None:
            self._lent.restore(stream, data)

    async def close(self, within_s: float) -> None:
        """Do nothing: it goes on for others."""


def identities(wanted: CompiledQuery) -> Mapping[str, str]:
    """By node, a digest of all that its answers depend on; none for a node that is its query's own.

    Those are the nodes that draw on a budget or ask an endpoint, and what takes from them.
    """
    found: dict[str, str] = {}
    by_name = {each.name: each for each in wanted.dag.nodes}
    before: list[DagNode] = []
    for each in wanted.dag.nodes:
        causes = [other.name for other in before if depends(each, other, by_name)]
        before.append(each)
        if _is_own(each, wanted.query) or not all(cause in found for cause in causes):
            continue
        said = [dict(_said(each, wanted.query)), sorted(found[cause] for cause in causes)]
        found[each.name] = sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
    return found


def _is_own(node: DagNode, query: Query) -> bool:
    spec = node.spec
    if isinstance(spec, RecogniseNode) and spec.endpoints:
        return True
    return (isinstance(spec, NetworkNode) and spec.budget is not None) or any(
        backend.budget is not None for backend in _backends(node, query).values()
    )


def _said(node: DagNode, query: Query) -> Iterator[tuple[str, Any]]:
    """The settings of a node, and those of its query that its answers depend on."""
    spec = node.spec
    yield "kind", f"{type(spec).__module__}.{type(spec).__qualname__}"
    yield "node", spec.model_dump(mode="json")
    yield "backends", {name: each.model_dump(mode="json") for name, each in _backends(node, query).items()}
    yield "masks", [each.model_dump(mode="json") for each in query.masks]
    if node.source is not None and any(leaf.field == ZONE for leaf in leaves(node.source.where)):
        yield "zones", [each.model_dump(mode="json") for each in query.zones]
    network = stood_in_for(spec, query)
    if isinstance(spec, RecogniseNode) or (
        isinstance(spec, DetectNode) and (spec.when == "needed" or is_planned(spec) or network)
    ):
        yield "audits", [query.accuracy, query.learning.model_dump(mode="json"), query.takes_exits, network]
    if isinstance(spec, TrackNode):
        yield "trackers", tracker_names(query.nodes)
    if isinstance(spec, RecogniseNode):
        yield "pictures", sorted(query.pictures)


def _backends(node: DagNode, query: Query) -> Mapping[str, Any]:
    """Those that a model of the node may be on."""
    named = named_backends([node.spec])
    return {name: each for name, each in query.backends.items() if name in named or ANYWHERE in named}
