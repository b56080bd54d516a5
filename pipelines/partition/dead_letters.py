"""Makes dead letters of messages that could not be processed, bounded in every field. Pure but for the time."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from operators.wire import bounds
from operators.wire.schema import DeadLetter
from pipelines.partition.message import Message
from serving.common.redaction import redact
from serving.common.untrusted import printable, shortened

DEAD_LETTER_BYTES = 512 << 10
"""Largest value that a dead letter keeps: as base64 it must fit into a message of 1 MB."""
HEADERS_CHARS = 16 << 10
"""Characters of all headers that a letter keeps."""
KEY_BYTES = 1024
"""Bytes of the letter's own key."""


def dead_letter(message: Message, reason: str, explanation: str) -> DeadLetter:
    """The letter for a message: where it came from, why it failed, and its bytes where they are not too many.

    Raises nothing: of a message that is odd beyond that only the place is said.
    """
    try:
        return _letter(message, reason, explanation)
    except Exception as error:
        why = shortened(explanation, bounds.LABEL_CHARS)
        return _bare(message, reason, f"{why}; nothing of the message can be shown: {type(error).__name__}")


def without_value(letter: DeadLetter) -> DeadLetter:
    """Return the letter without its value, for a topic that takes only small messages."""
    return msgspec.structs.replace(letter, value_base64=None, headers={})


def letter_key(message: Message) -> bytes | None:
    """The message's key, or the start of a long one."""
    return None if message.key is None else bytes(message.key[:KEY_BYTES])


def _letter(message: Message, reason: str, explanation: str) -> DeadLetter:
    value = message.value or b""
    kept = base64.b64encode(value).decode() if len(value) <= DEAD_LETTER_BYTES else None
    return msgspec.structs.replace(
        _bare(message, reason, explanation),
        key=None if message.key is None else _text(message.key),
        headers=dict(_headers(message)),
        value_bytes=len(value),
        value_base64=kept,
    )


def _bare(message: Message, reason: str, explanation: str) -> DeadLetter:
    return DeadLetter(
        reason=reason,
        message=printable(redact(explanation), bounds.TEXT_CHARS),
        topic=shortened(message.topic, bounds.LABEL_CHARS),
        partition=message.partition,
        offset=message.offset,
        key=None,
        at=datetime.now(UTC),
    )


def _headers(message: Message) -> Iterator[tuple[str, str]]:
    """Keep the first headers, as far as there is room; an empty header becomes an empty text."""
    room = HEADERS_CHARS
    for name, content in message.headers[: bounds.MOST_HEADERS]:
        label, text = shortened(str(name), bounds.LABEL_CHARS), _text(content or b"")
        room -= len(label) + len(text)
        if room < 0:
            return
        yield label, text


def _text(content: bytes) -> str:
    """Cut the bytes before they are decoded, so that a long text costs nothing."""
    whole = bytes(content[: bounds.HEADER_CHARS])
    return shortened(whole.decode(errors="backslashreplace"), bounds.HEADER_CHARS)
