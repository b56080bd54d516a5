"""The nodes of a query that have shortcuts: one registry for as long as a run or a worker lasts."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Protocol

from operators.wire.schema import FrameId, NodePlan, Result, StreamPlan
from pipelines.planning.switches import Switches


class ShortcutNode(Protocol):
    """The operator of a node that has shortcuts, as all but the executor see it."""

    @property
    def node(self) -> str:
        """The node's name."""

    def forget(self, stream: str) -> None:
        """Forget a stream."""

    def published(self, frame: FrameId) -> None:
        """The result of a frame, which was analysed, has been published: background work for it may begin."""

    def dropped(self, frame: FrameId) -> None:
        """A frame was dropped or has failed: nobody got its answers."""

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        """How each stream stands with the shortcuts; with ``gone`` also those that ended or moved away."""

    def snapshot(self, stream: str) -> bytes | None:
        """The node's knowledge of a stream, as JSON; None where there is none."""

    def restore(self, stream: str, data: bytes) -> None:
        """Go on from a snapshot, before the stream's first frame; what cannot be used is logged and ignored."""

    async def close(self, within_s: float) -> None:
        """Finish the audits that wait, within the time, and give up other background work."""


class News:
    """Notifies listeners, each of which has its own event."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Event] = []

    def listen(self) -> asyncio.Event:
        """Return an event that is set at every change; the caller clears it."""
        self._listeners.append(asyncio.Event())
        return self._listeners[-1]

    def notify(self) -> None:
        for listener in self._listeners:
            listener.set()


class Shortcuts:
    """Speaks of all nodes together."""

    def __init__(self, query: str) -> None:
        self.nodes: dict[str, ShortcutNode] = {}
        """By name."""
        self.news = News()
        """A phase has changed, or another model has come to run for most frames of a stream."""
        self._switches = Switches()
        self.query = query
        """Its name."""

    def add(self, node: ShortcutNode, part: str = "") -> None:
        """Another node; or one ``part`` of a node that has several."""
        self.nodes[f"{node.node}.{part}" if part else node.node] = node

    def published(self, result: Result) -> None:
        """Take a result that has been published: from now on background work does not delay it."""
        for node in self.nodes.values():
            if result.outcome == "analysed":
                node.published(result.id)
            else:
                node.dropped(result.id)
        if self._switches.see(result):
            self.news.notify()

    async def close(self, within_s: float) -> None:
        """Finish the audits that wait, within the time; the engine must still run."""
        await asyncio.gather(*(node.close(within_s) for node in self.nodes.values()))

    def plans(self, at: datetime, gone: bool = False) -> list[StreamPlan]:
        """How each stream stands with shortcuts; with ``gone`` also those that ended or moved away."""
        streams: dict[str, list[NodePlan]] = {}
        for node in self.nodes.values():
            for stream, plans in node.plans(gone).items():
                streams.setdefault(stream, []).extend(plans)
        return [
            StreamPlan(stream=stream, query=self.query, at=at, nodes=nodes, switches=list(self._switches.of(stream)))
            for stream, nodes in sorted(streams.items())
        ]
