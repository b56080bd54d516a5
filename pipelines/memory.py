"""What operators know of a stream survives the worker that learnt it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol


class Remembers(Protocol):
    """The operator of a node that learns from a stream."""

    def snapshot(self, stream: str) -> bytes | None:
        """What it knows of a stream, as JSON; None where that is nothing."""

    def restore(self, stream: str, data: bytes) -> None:
        """Go on from a snapshot, before the stream's first frame; what cannot be used is told of and ignored."""


class Memory(Protocol):
    """Keeps the snapshots of a worker's streams."""

    def reset(self) -> None:
        """Partitions moved: others may have learnt more meanwhile."""
        ...

    async def cover(self) -> None:
        """Learn what there is, if that has not been done since ``reset``."""
        ...

    def recall(self, stream: str) -> None:
        """The stream's first frame is about to be analysed: restore what is known of it."""
        ...

    async def hand_over(self) -> None:
        """Keep the latest of all streams, so that others may go on with them; takes seconds at the most."""
        ...

    def forget(self, stream: str) -> None:
        """The stream is with others now."""
        ...

    def kept(self) -> AbstractAsyncContextManager[None]:
        """Keep what is new now and then while the block runs."""
        ...


class NoMemory:
    """For ``local://``, which ends with its process, and for queries that learn nothing."""

    def reset(self) -> None:
        """Nothing."""

    async def cover(self) -> None:
        """Nothing."""

    def recall(self, stream: str) -> None:
        """Nothing."""

    async def hand_over(self) -> None:
        """Nothing."""

    def forget(self, stream: str) -> None:
        """Nothing."""

    def kept(self) -> AbstractAsyncContextManager[None]:
        """Nothing."""
        return nullcontext()
