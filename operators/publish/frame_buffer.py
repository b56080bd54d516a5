"""Buffers messages to send: bounded by bytes, in order per stream, and by policy without images. Pure."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field

import msgspec

from operators.wire.schema import FrameHeader

CAPTURE_BUFFER_FULL = "capture_buffer_full"
MESSAGE_TOO_LARGE = "message_too_large"

OVERHEAD_BYTES = 1024
"""Memory that a message takes besides its image: the header on the wire and the objects that hold it here."""


@dataclass(frozen=True, slots=True)
class FrameMessage:
    """One sampled frame on its way to the frames topic; without an image its header says why."""

    header: FrameHeader
    image: bytes = b""

    @property
    def size_bytes(self) -> int:
        """Memory that the message takes in the buffer."""
        return len(self.image) + OVERHEAD_BYTES

    def without_image(self, cause: str) -> FrameMessage:
        """Return the same frame without its image: its place in the sequence stays."""
        return FrameMessage(msgspec.structs.replace(self.header, encoding="none", cause=cause))


@dataclass(slots=True, eq=False)
class _Buffered:
    message: FrameMessage
    droppable: bool


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
    _lanes: dict[str, deque[_Buffered]] = field(default_factory=dict)
    _ready: deque[str] = field(default_factory=deque)
    """Streams whose first message may be taken."""
    _images: OrderedDict[_Buffered, None] = field(default_factory=OrderedDict)
    """Messages that may lose their image, oldest first; a message that is being sent is not among them."""

    def __len__(self) -> int:
        """Number of messages that wait or are being sent."""
        return sum(len(lane) for lane in self._lanes.values())

    def put(self, message: FrameMessage, droppable: bool) -> bool:
        """Add a message, dropping images as needed and allowed; False if there is no room for it now."""
        entry = _Buffered(message, droppable)
        stream = message.header.stream
        if not self._make_room(entry):
            return False
        if stream not in self._lanes:
            self._lanes[stream] = deque()
            self._ready.append(stream)
        self._lanes[stream].append(entry)
        self.size_bytes += entry.message.size_bytes
        if droppable and entry.message.image:
            self._images[entry] = None
        return True

    def take(self) -> FrameMessage | None:
        """Take the next message to send, streams in turn; ``sent``, ``refused`` or ``failed`` ends its sending."""
        if not self._ready:
            return None
        entry = self._lanes[self._ready.popleft()][0]
        self._images.pop(entry, None)
        return entry.message

    def sent(self, stream: str) -> None:
        """Note that the stream's message that was being sent has arrived."""
        lane = self._lanes[stream]
        self.size_bytes -= lane.popleft().message.size_bytes
        if lane:
            self._ready.append(stream)
        else:
            del self._lanes[stream]

    def failed(self, stream: str) -> None:
        """Note that the message did not arrive: it is the stream's next one again."""
        entry = self._lanes[stream][0]
        if entry.droppable and entry.message.image:
            self._images[entry] = None
            self._images.move_to_end(entry, last=False)
        self._ready.appendleft(stream)

    def refused(self, stream: str) -> None:
        """Note that the message is too large for the topic: its header goes alone."""
        entry = self._lanes[stream][0]
        self._strip(entry, MESSAGE_TOO_LARGE)
        self.failed(stream)

    def _make_room(self, new: _Buffered) -> bool:
        """Drop images until ``new`` fits; its own image is dropped last."""
        while self.size_bytes + new.message.size_bytes > self.max_bytes and self._lanes:
            if self._images:
                oldest, _ = self._images.popitem(last=False)
                self._strip(oldest, CAPTURE_BUFFER_FULL)
            elif new.droppable and new.message.image:
                new.message = new.message.without_image(CAPTURE_BUFFER_FULL)
            else:
                return False
            self.images_dropped += 1
        return True

    def _strip(self, entry: _Buffered, cause: str) -> None:
        self.size_bytes -= len(entry.message.image)
        entry.message = entry.message.without_image(cause)
