"""A node with shortcuts that was built for another query, as the queries that use it too see it."""

from __future__ import annotations

from collections.abc import Mapping

from operators.wire.schema import FrameId, NodePlan
from pipelines.assembly.registry import ShortcutNode
from specialization.timeline import Timeline


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

    def timelines(self) -> Mapping[str, Timeline]:
        return self._lent.timelines()

    def snapshot(self, stream: str) -> bytes | None:
        return self._lent.snapshot(stream)

    def restore(self, stream: str, data: bytes) -> None:
        """Go on from a snapshot of a stream of which nothing is known yet."""
        if self._lent.snapshot(stream) is None:
            self._lent.restore(stream, data)

    async def close(self, within_s: float) -> None:
        """Do nothing: it goes on for others."""
