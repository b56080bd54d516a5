"""Dead letters for people: as one line, in full, and as the message that is put back. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from msgspec import structs

from operators.frames.codec import FrameError, decode_frame, read_header
from operators.transports.record_sets import UNREADABLE
from operators.wire.schema import FRAME_HEADER_KEY, DeadLetter, to_json
from serving.errors import BadInput

TITLES = f"{'PLACE':10}  {'AT UTC':19}  {'REASON':17}  {'KEY':16}  {'BYTES':>9}  MESSAGE"


@dataclass(frozen=True, order=True)
class Place:
    """Where a letter lies in the dead-letter topic; written ``PARTITION:OFFSET``."""

    partition: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read ``PARTITION:OFFSET``; raises BadInput."""
        match = re.fullmatch(r"(\d{1,9}):(\d{1,18})", text)
        if match is None:
            raise BadInput(f"{text!r} is no place of a dead letter: `sluice dlq list` shows them, such as 0:17")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"


@dataclass(frozen=True)
class Mend:
    """Replacements for parts of a message that is put back; None keeps the part as it was."""

    header: bytes | None = None
    """JSON of the frame's header."""
    image: bytes | None = None
    captured_at: datetime | None = None


@dataclass(frozen=True)
class Remade:
    """A message to put back on the frames topic."""

    key: bytes
    value: bytes
    headers: Mapping[str, bytes]


def letter_line(place: Place, letter: DeadLetter) -> str:
    """Columns under ``TITLES``."""
    at = letter.at.strftime("%Y-%m-%d %H:%M:%S")
    key = "-" if letter.key is None else letter.key
    return f"{place!s:10}  {at:19}  {letter.reason:17.17}  {key:16.16}  {letter.value_bytes:9d}  {letter.message}"


def letter_text(place: Place, letter: DeadLetter) -> str:
    """Everything but the bytes of the message, a field a line."""
    kept = "kept" if letter.value_base64 is not None else "not kept: too many"
    fields = {
        "place": str(place),
        "reason": letter.reason,
        "message": letter.message,
        "from": f"{letter.topic} partition {letter.partition} offset {letter.offset}",
        "key": "-" if letter.key is None else letter.key,
        "at": letter.at.isoformat(),
        "bytes": f"{letter.value_bytes} ({kept})",
        **{f"header {name}": content for name, content in letter.headers.items()},
    }
    return "\n".join(f"{name + ':':10} {content}" for name, content in fields.items())


def original_bytes(letter: DeadLetter) -> bytes:
    """The original value of the message; raises BadInput where the letter does not hold it."""
    if letter.value_base64 is None:
        raise BadInput(f"the letter has not kept the {letter.value_bytes} bytes of its message: give them with --image")
    try:
        return base64.b64decode(letter.value_base64, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("the letter's bytes are damaged: give them with --image") from None


def remade(letter: DeadLetter, frames_topic: str, mend: Mend) -> Remade:
    """The message to put back; raises BadInput where it would become a dead letter again.

    A letter that names another topic than ``frames_topic`` is refused: it is not trusted.
    """
    if letter.topic != frames_topic:
        raise BadInput(f"the letter is from topic {letter.topic!r}: only those from {frames_topic} can be put back")
    value = original_bytes(letter) if mend.image is None else mend.image
    headers = {name: content.encode() for name, content in letter.headers.items() if name != UNREADABLE}
    if mend.header is not None:
        headers[FRAME_HEADER_KEY] = mend.header.strip()
    try:
        header = read_header(headers.items())
        if mend.captured_at is not None:
            header = structs.replace(header, captured_at=mend.captured_at)
            headers[FRAME_HEADER_KEY] = to_json(header)
        if header.encoding != "none":
            decode_frame(header, value)
    except FrameError as error:
        hint = "--header" if error.reason in ("bad_header", "wrong_schema") else "--image"
        raise BadInput(f"it would become a dead letter again ({error.reason}: {error}): mend it with {hint}") from None
    return Remade(header.stream.encode(), value, headers)
