"""Text and bytes that were written elsewhere: in a topic, a file, a pipe.

Text is made fit for a terminal and for a line of a log. Bytes are decoded as JSON only, of a declared kind, with the
bounds that the kind's fields state; whatever is wrong with them raises one error, ``Malformed``, whichever way the
libraries have of saying it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Hashable
from types import UnionType
from typing import Any, TypeVar, cast, overload

import msgspec

from serving.errors import Malformed

MARK = "…"
"""Stands for what was cut off."""


def printable(text: object, limit: int | None = None) -> str:
    """The text with every character that a terminal may act upon spelled out, as ``\\x1b`` or ``\\u202e``.

    These are control characters, line breaks, marks that turn the direction of writing and what has no glyph.
    ``limit``: the most characters that are returned.
    """
    shown = str(text)
    if limit is not None:
        shown = shortened(shown, limit)
    if not shown.isprintable():
        shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)
    return shown if limit is None else shortened(shown, limit)


def printable_lines(text: object) -> list[str]:
    """The same line by line: only for text whose line breaks are ours, such as a traceback."""
    return [printable(line) for line in str(text).split("\n")]


def json_line(data: bytes) -> str:
    """Valid JSON as one line that says the same, with what a terminal may act upon in JSON's own spelling."""
    text = data.decode()
    if text.isprintable():
        return text
    # Outside of strings JSON has no such characters but white space.
    return "".join(each if each.isprintable() else " " if each in "\n\r\t" else json.dumps(each)[1:-1] for each in text)


def shortened(text: str, limit: int) -> str:
    """At most so many characters of a text; the last one tells that something was cut off."""
    return text if len(text) <= limit else text[: limit - len(MARK)] + MARK


T = TypeVar("T")

LARGEST_BYTES = 16 << 20
"""More is refused unread, unless the caller allows it."""
LONGEST_REASON = 300
"""Characters; the reason may quote what was sent."""

_PATTERN = re.compile(r"matching regex '.*'")


@overload
def decode(data: bytes | bytearray | memoryview, kind: type[T], largest_bytes: int = ...) -> T: ...
@overload
def decode(data: bytes | bytearray | memoryview, kind: UnionType, largest_bytes: int = ...) -> Any: ...
def decode(
    data: bytes | bytearray | memoryview, kind: type[T] | UnionType, largest_bytes: int = LARGEST_BYTES
) -> T | Any:
    """Decode the bytes as ``kind`` (a struct, or a union of structs); raises ``Malformed`` and nothing else."""
    if len(data) > largest_bytes:
        raise Malformed(f"{len(data)} bytes are more than the {largest_bytes} that are allowed")
    try:
        # As a whole: msgspec does not look at the encoding of fields that it skips.
        text = str(data, "utf-8")
        decoded: T | Any = _decoder(cast(Hashable, kind)).decode(text)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise Malformed(f"no UTF-8 at byte {error.start}") from None
    except Exception as error:
        raise Malformed(_reason(error)) from None
    return decoded


def _reason(error: Exception) -> str:
    said = _PATTERN.sub("without control characters", str(error)) or type(error).__name__
    return printable(said, LONGEST_REASON)


_decoders: dict[Hashable, msgspec.json.Decoder[Any]] = {}
_making = threading.Lock()


def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    """One for each kind, made by one thread at a time.

    Where two make decoders of a struct together, msgspec gives one of them a part of it, and the process dies by that.
    """
    if kind not in _decoders:
        with _making:
            if kind not in _decoders:
                _decoders[kind] = msgspec.json.Decoder(kind)
    return _decoders[kind]
