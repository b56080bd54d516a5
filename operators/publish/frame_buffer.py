"""What waits to be sent: bounded by bytes, in order per stream, and by policy without images. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import msgspec

from operators.schema import FrameHeader

CAPTURE_BUFFER_FULL = "capture_buffer_full"
MESSAGE_TOO_LARGE = "message_too_large"

OVERHEAD_BYTES = 1024
"""What a message takes beside its image: the header on the wire and the objects that hold it here."""


@dataclass(frozen=True, slots=True)
class FrameMessage:
    """One sampled frame on its way to the frames topic; without image its header says why."""

    header: FrameHeader
    image: bytes = b""

    @property
    def size_bytes(self) -> int:
        """What it takes in the buffer."""
        return len(self.image) + OVERHEAD_BYTES

    def without_image(self, cause: str) -> FrameMessage:
        """The same frame as dropped: its place in the sequence stays."""
        return FrameMessage(msgspec.structs.replace(self.header, encoding="none", cause=cause))


@dataclass(slots=True, eq=False)
class _Entry:
    message: FrameMessage
    droppable: bool
    taken: bool = False
    """Handed out to be sent, and neither sent nor given back yet; a sent one stays so."""


@dataclass(slots=True)
class FrameBuffer:
    """Messages of several streams under one bound of bytes; of each stream at most one is out to be sent.

    So order per stream holds whatever fails: a message leaves when its predecessor has arrived. When a message does
    not fit, the oldest images of streams that may be dropped are given up, never a header: every frame comes out
    exactly once. What still does not fit must wait, except in an empty buffer, which takes anything.
    """

    max_bytes: int
    size_bytes: int = 0
    images_dropped: int = 0
    _lanes: dict[str, deque[_Entry]] = field(default_factory=dict)
    _ready: deque[str] = field(default_factory=deque)
    """Streams whose first message may be taken."""
    _images: deque[_Entry] = field(default_factory=deque)
    """What may lose its image, oldest first; among them messages that were taken since."""

    def __len__(self) -> int:
        """How many messages wait or are out."""
        return sum(len(lane) for lane in self._lanes.values())

    def put(self, message: FrameMessage, droppable: bool) -> bool:
        """Add a message, dropping images as needed and allowed; False where there is no room for it now."""
        entry = _Entry(message, droppable)
        stream = message.header.stream
        if not self._make_room(entry):
            return False
        if stream not in self._lanes:
            self._lanes[stream] = deque()
            self._ready.append(stream)
        self._lanes[stream].append(entry)
        self.size_bytes += entry.message.size_bytes
        if droppable and entry.message.image:
            self._images.append(entry)
        return True

    def take(self) -> FrameMessage | None:
        """The next message to send, streams in turn; it stays until ``sent``, ``refused`` or ``failed`` is told."""
        if not self._ready:
            return None
        entry = self._lanes[self._ready.popleft()][0]
        entry.taken = True
        return entry.message

    def sent(self, stream: str) -> None:
        """The message of this stream that was out has arrived."""
        lane = self._lanes[stream]
        self.size_bytes -= lane.popleft().message.size_bytes
        if lane:
            self._ready.append(stream)
        else:
            del self._lanes[stream]

    def failed(self, stream: str) -> None:
        """The message that was out has not arrived: it is the stream's next one again."""
        entry = self._lanes[stream][0]
        entry.taken = False
        if entry.droppable and entry.message.image:
            self._images.appendleft(entry)
        self._ready.appendleft(stream)

    def refused(self, stream: str) -> None:
        """The message that was out is too large for the topic: its header goes alone."""
        entry = self._lanes[stream][0]
        self._strip(entry, MESSAGE_TOO_LARGE)
        self.failed(stream)

    def _make_room(self, new: _Entry) -> bool:
        """Drop images until ``new`` fits; the last resort is its own."""
        while self.size_bytes + new.message.size_bytes > self.max_bytes and self._lanes:
            victim = self._oldest_image() or (new if new.droppable and new.message.image else None)
            if victim is None:
                return False
            if victim is new:
                new.message = new.message.without_image(CAPTURE_BUFFER_FULL)
            else:
                self._strip(victim, CAPTURE_BUFFER_FULL)
            self.images_dropped += 1
        return True

    def _oldest_image(self) -> _Entry | None:
        while self._images:
            entry = self._images.popleft()
            if not entry.taken:
                return entry
        return None

    def _strip(self, entry: _Entry, cause: str) -> None:
        self.size_bytes -= len(entry.message.image)
        entry.message = entry.message.without_image(cause)
