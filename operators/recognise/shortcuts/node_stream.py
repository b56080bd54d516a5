"""The streams of a node, including those that are gone: the one owner of their state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from operators.audits.stream_audits import StreamAudits
from operators.recognise.audits.open_trials import OpenTrials
from operators.recognise.audits.second_thoughts import SecondThoughts
from operators.recognise.shortcuts.shortcut import Standing
from specialization.timeline import Timeline

REMEMBERED_STREAMS = 1000
"""Number of gone streams that are kept for the report."""


@dataclass(eq=False)
class NodeStream:
    """One stream at one node."""

    name: str
    audits: StreamAudits
    timeline: Timeline | None
    """Its timeline; None if no shortcut of the node follows the content."""
    at_s: float = 0.0
    """Media time of the latest frame."""
    run: str | None = None
    """The run whose tracks are audited; None where no tracks are."""
    trials: OpenTrials = field(default_factory=OpenTrials)
    second_thoughts: SecondThoughts = field(default_factory=partial(SecondThoughts, 2))
    standings: dict[str, Standing] = field(default_factory=dict)
    """The phases that were last noted."""

    def looked_again(self) -> None:
        """Note a run of the oracle for an audit."""
        if self.timeline is not None:
            self.timeline.counted(self.at_s, audits=1)

    def note(self, key: str, standing: Standing) -> None:
        """Return the stream's present standing with a shortcut."""
        self.standings[key] = standing
        if self.timeline is not None:
            self.timeline.entered(self.at_s, standing.phase, standing.classes, standing.window)


class NodeStreams:
    """The streams of a node: those that are here, and the latest of those that are gone."""

    def __init__(self, fresh: Callable[[str], NodeStream]) -> None:
        """``fresh``: makes the state of a new stream."""
        self._fresh = fresh
        self._here: dict[str, NodeStream] = {}
        self._gone: dict[str, NodeStream] = {}

    def here(self, name: str) -> NodeStream | None:
        """Return a present stream."""
        return self._here.get(name)

    def enter(self, name: str) -> NodeStream:
        """Return the stream of a frame; a stream that was gone begins anew."""
        return self._here.get(name) or self.renew(name)

    def renew(self, name: str) -> NodeStream:
        """Begin anew with a stream, and drop what is known of it."""
        self._gone.pop(name, None)
        self._here[name] = self._fresh(name)
        return self._here[name]

    def leave(self, name: str) -> None:
        """Note that the stream is gone; it stays for the report."""
        stream = self._here.pop(name, None)
        if stream is not None:
            self._gone[name] = stream
        while len(self._gone) > REMEMBERED_STREAMS:
            del self._gone[next(iter(self._gone))]

    def is_here(self, stream: NodeStream) -> bool:
        """Whether this object is in use, rather than gone or replaced."""
        return self._here.get(stream.name) is stream

    def known(self, gone: bool = True) -> Mapping[str, NodeStream]:
        """Return all streams by name; with ``gone`` including those that are gone."""
        return {**self._gone, **self._here} if gone else self._here
