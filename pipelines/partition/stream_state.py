"""The state that operators learn of a stream, which survives the worker that learnt it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from pipelines.assembly.registry import ShortcutNode


@dataclass(frozen=True)
class StateConfig:
    """Which nodes have state, and the topic that keeps it."""

    topic: str
    nodes: Mapping[str, ShortcutNode]
    """The nodes with state, by name."""
    changed: asyncio.Event
    """Is set when some phase has changed."""


class StateStore:
    """Keeps the snapshots of a worker's streams; this one keeps nothing, for queries that learn nothing."""

    def reset(self) -> None:
        """Note that partitions moved: other workers may have learnt more meanwhile."""

    async def read(self) -> None:
        """Read all snapshots, unless that was done since ``reset``."""

    def restore(self, stream: str) -> None:
        """Restore the state of a stream whose first frame is about to be analysed."""

    async def save(self) -> None:
        """Save the latest state of all streams, so that other workers can go on; takes seconds at the most."""

    def forget(self, stream: str) -> None:
        """Save no more of a stream that another worker has now."""

    def saving(self) -> AbstractAsyncContextManager[None]:
        """Save what is new now and then while the block runs."""
        return nullcontext()
