"""Decodes bytes that were written elsewhere: a topic, a file, a pipe.

JSON only, of a declared kind, with the bounds that the kind's fields state. Whatever is wrong with the bytes raises one
error, ``Malformed``, whichever way the libraries have of saying it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import cache
from types import UnionType
from typing import Any, TypeVar, cast, overload

import msgspec

from serving.common.printable import printable
from serving.errors import Malformed

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


@cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
