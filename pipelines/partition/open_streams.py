"""The streams whose state a worker holds: so many at most, the least recently seen are dropped first. No clock."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass

from pipelines.settings import StreamBounds

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _OpenStream:
    partition: Hashable
    seen_s: float


class OpenStreams:
    """Says which streams are new, and drops streams that were silent for long or are too many.

    A stream that is ``busy`` with a frame is not dropped, so for a moment there may be more than the bound.
    """

    def __init__(self, bounds: StreamBounds, drop: Callable[[str], None], busy: Callable[[str], bool]) -> None:
        self._bounds, self._drop, self._busy = bounds, drop, busy
        self._streams: OrderedDict[str, _OpenStream] = OrderedDict()
        """Least recently seen first."""
        self._logged = False

    def __len__(self) -> int:
        return len(self._streams)

    def meet(self, stream: str, partition: Hashable, now_s: float) -> bool:
        """Note a frame of the stream; returns whether the stream is new. ``now_s`` never goes back."""
        known = self._streams.get(stream)
        if known is not None:
            known.partition, known.seen_s = partition, now_s
            self._streams.move_to_end(stream)
        else:
            self._streams[stream] = _OpenStream(partition, now_s)
        self._make_room(now_s)
        return known is None

    def keep(self, partitions: Collection[Hashable]) -> None:
        for stream in [name for name, known in self._streams.items() if known.partition not in partitions]:
            self._close(stream)

    def _make_room(self, now_s: float) -> None:
        """Streams that are busy are few, and among the last seen."""
        while len(self._streams) > 1:
            stream, oldest = next(iter(self._streams.items()))
            silent = now_s - oldest.seen_s > self._bounds.silent_s
            if (not silent and len(self._streams) <= self._bounds.max_streams) or self._busy(stream):
                return
            if not silent and not self._logged:
                self._logged = True
                log.warning(
                    "more than %d streams send frames: the state of the least recently seen is dropped, and they "
                    "begin anew; raise SLUICE_MAX_STREAMS, or start more workers",
                    self._bounds.max_streams,
                )
            self._close(stream)

    def _close(self, stream: str) -> None:
        del self._streams[stream]
        self._drop(stream)
