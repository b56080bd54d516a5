"""The streams of a detect node with several models: the audits of each, also of those that are gone. Bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cache_adapt.audit.state import Rule
from operators.audits.stream_audits import StreamAudits

REMEMBERED_STREAMS = 1000
"""Number of gone streams that are kept for the report."""


@dataclass(eq=False)
class NodeStream:
    """One stream at one node."""

    name: str
    audits: StreamAudits


class Streams:
    """Those that are here, and the latest of those that are gone."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._here: dict[str, NodeStream] = {}
        self._gone: dict[str, NodeStream] = {}

    def here(self, name: str) -> NodeStream | None:
        """Return a present stream."""
        return self._here.get(name)

    def enter(self, name: str) -> NodeStream:
        """Return the stream of a frame; one that was gone begins anew."""
        return self._here.get(name) or self.renew(name)

    def renew(self, name: str) -> NodeStream:
        """Begin anew with a stream."""
        self._gone.pop(name, None)
        found = self._here[name] = NodeStream(name, StreamAudits(self._rule))
        return found

    def leave(self, name: str) -> None:
        """Note that the stream is gone; it stays for the report."""
        if (stream := self._here.pop(name, None)) is not None:
            self._gone[name] = stream
        while len(self._gone) > REMEMBERED_STREAMS:
            del self._gone[next(iter(self._gone))]

    def known(self, gone: bool) -> Mapping[str, NodeStream]:
        """Return the streams by name; with ``gone`` including those that are gone."""
        return {**self._gone, **self._here} if gone else self._here
