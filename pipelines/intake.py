"""What becomes of one message of the frames topic: a result, a dead letter, or both. Knows no transport."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from operators.frame import Frame
from operators.frames_codec import FrameError, decode_frame, read_header
from operators.schema import DeadLetter, FrameHeader, Outcome, Result

DEAD_LETTER_BYTES = 512 << 10
"""A larger value is not kept in its dead letter: as base64 it must fit into a message of 1 MB."""
DEAD_LETTER_HEADER_CHARS = 4096


class Analyser(Protocol):
    """What the executor is to the transports."""

    async def submit(self, header: FrameHeader, load: Callable[[], Frame]) -> Result:
        """Analyse one frame; raises only what ``load`` raises. Frames of a stream come in the order of the calls."""
        ...

    def unanalysed(self, header: FrameHeader, outcome: Outcome, cause: str) -> Result:
        """The result of a frame that was not analysed."""
        ...

    def forget(self, stream: str) -> None:
        """Drop what is known of a stream: its partition moved away."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A message as any transport delivers it; ``receipt`` is the transport's own, for the acknowledgement."""

    topic: str
    partition: int
    offset: int
    timestamp_s: float
    key: bytes | None
    value: bytes | memoryview | None
    headers: tuple[tuple[str, bytes], ...]
    receipt: object = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What to publish for a message; nothing at all where it was answered in an earlier life."""

    result: Result | None = None
    dead_letter: DeadLetter | None = None


async def answer(message: Message, analyser: Analyser, answered: Callable[[FrameHeader], bool]) -> Answer:
    """Analyse the frame of a message. Raises nothing: whatever is wrong with it becomes part of the answer."""
    try:
        header = read_header(message.headers)
    except FrameError as error:
        return Answer(dead_letter=dead_letter(message, error.reason, str(error)))
    if answered(header):
        return Answer()
    if header.encoding == "none":
        return Answer(analyser.unanalysed(header, "dropped", header.cause or "dropped by capture"))
    try:
        result = await analyser.submit(header, lambda: decode_frame(header, message.value or b""))
    except FrameError as error:
        return _failed(message, analyser, header, error.reason, str(error))
    except Exception as error:
        return _failed(message, analyser, header, "failed", f"{type(error).__name__}: {error}")
    if result.outcome == "failed":
        return Answer(result, dead_letter(message, "failed", result.cause or "the analysis failed"))
    return Answer(result)


def dead_letter(message: Message, reason: str, explanation: str) -> DeadLetter:
    """The letter for a message: where it came from, why it failed, and its bytes where they are not too many."""
    value = message.value or b""
    return DeadLetter(
        reason=reason,
        message=explanation,
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=None if message.key is None else _text(message.key),
        at=datetime.now(UTC),
        headers={name: _text(content) for name, content in message.headers},
        value_bytes=len(value),
        value_base64=base64.b64encode(value).decode() if len(value) <= DEAD_LETTER_BYTES else None,
    )


def without_value(letter: DeadLetter) -> DeadLetter:
    """The same letter for a topic that takes only small messages."""
    return msgspec.structs.replace(letter, value_base64=None)


def without_objects(result: Result, explanation: str) -> Result:
    """The result to publish where the whole one is too large for its topic."""
    return msgspec.structs.replace(result, outcome="failed", cause=explanation, objects=[])


def _failed(message: Message, analyser: Analyser, header: FrameHeader, reason: str, explanation: str) -> Answer:
    result = analyser.unanalysed(header, "failed", f"{reason}: {explanation}")
    return Answer(result, dead_letter(message, reason, explanation))


def _text(content: bytes) -> str:
    return content.decode(errors="backslashreplace")[:DEAD_LETTER_HEADER_CHARS]
