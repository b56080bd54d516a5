"""The contract of who makes the caches of a node, from looks whose taps were open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from serving.engines.exits import ExitOutputs


class CacheMaker(ABC):
    """Takes samples, and lets caches answer in the node's network once there are some. Called on the event loop."""

    sample_s = 0.0
    """Processor seconds that a sample costs beside its look."""

    @abstractmethod
    def wants(self, items: int) -> bool:
        """Whether so many looks should become samples."""

    @abstractmethod
    def take(self, found: ExitOutputs) -> None:
        """Take looks that went through to the end; BadInput where they cannot be kept."""

    @abstractmethod
    def make_where_due(self) -> None:
        """Have caches made, or take those that are there, where that is due; returns at once."""

    @abstractmethod
    def withdrawn(self) -> None:
        """Note that the caches in use were withdrawn."""

    @abstractmethod
    def gives_way(self) -> bool:
        """Whether caches that the audit of one stream has switched off are to be withdrawn for all."""

    @abstractmethod
    def waits_for(self) -> str:
        """Return what is missing as long as no caches answer."""

    def looked(self, stream: str, version: int | None, answered: int, words: Sequence[str]) -> None:
        """Note the answers to a frame's looks; ``answered`` of them by caches of this version; None: by none."""
        return

    def audited(self, stream: str, version: object, agrees: bool) -> None:
        """Note that an answer of caches was compared with the oracle's."""
        return

    def forget(self, stream: str) -> None:
        """Forget a stream."""
        return

    @abstractmethod
    async def settled(self) -> None:
        """Return when nothing is being made or opened."""

    @abstractmethod
    async def close(self) -> None:
        """Give up what is being made."""
