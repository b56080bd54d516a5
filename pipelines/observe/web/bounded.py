"""A server's connections, bounded: whoever comes when all places are taken is turned away before a byte is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import cast


def bounded(
    make: Callable[[], asyncio.BaseProtocol], connections: Callable[[], Collection[object]], most: int
) -> Callable[[], asyncio.BaseProtocol]:
    """A factory of protocols that makes ``make``'s while fewer than ``most`` connections are open."""
    return lambda: make() if len(connections()) < most else _Full()


class _Full(asyncio.Protocol):
    """Closes the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol``."""
        cast(asyncio.Transport, transport).abort()
